/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack tree`: who calls whom, and for how much. */
#include <inttypes.h>

#include "flame_tree.h"
#include "number.h"
#include "profile_view.h"

/* A printed tree is cut at this depth, because a profile may have stacks of any depth and each
 * level is indented. Flame graphs show all. */
#define LIMIT_TREE_DEPTH 512

struct tree_options {
	struct profile_view view;
	uint64_t nodes, depth;
	double min; /* per cent */
};

static void tree_options_done(struct tree_options *o)
{
	profile_view_done(&o->view);
}

static int set_share(void *at, const char *option, const char *text, struct err *err)
{
	double *ret = at;

	if (!number_read_real(text, ret) || !(*ret >= 0 && *ret <= 100))
		return err_set(err, ERR_USAGE, "%s %s is not a share from 0 to 100", option, text);
	return 0;
}

static const struct option_row rows[] = {
	OPTION_NUMBER('n', NULL, "N", struct tree_options, nodes, 1, UINT32_MAX, 1,
		      "show at most N calls (1000)"),
	OPTION_NUMBER(0, "depth", "N", struct tree_options, depth, 1, LIMIT_TREE_DEPTH, 1,
		      "show at most N levels of calls"),
	OPTION_CALL(0, "min", "SHARE", set_share,
		    "leave out calls below this share, in per cent (1)",
		    .offset = offsetof(struct tree_options, min)),
	OPTION_ROWS(struct tree_options, view, profile_view_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack tree",
	.synopsis = "[OPTIONS] DIR|FILE...",
	.about =
		"Prints the call tree, outermost callers first and heavier branches before lighter "
		"ones. Where samples have the names of threads, these are the first level.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static void print_name(const struct profile *p, const struct flame_frame *f, struct buf *out)
{
	struct profile_text name = profile_text(p, f->name);

	if (name.len)
		profile_view_text(out, name);
	else
		buf_str(out, "[no name]");
}

static void text_node(const struct tree_options *o, const struct flame_tree *t, uint32_t node,
		      uint32_t depth, struct buf *out)
{
	const struct flame_node *n = &t->nodes[node];
	struct flame_frame f = flame_tree_frame(t, n->frame);
	double total = (double)t->nodes[0].weight;
	struct profile_text file = profile_text(&o->view.p, n->file);

	text_share(out, (double)n->weight, total);
	buf_printf(out, "  %*s", (int)(2 * depth), "");
	print_name(&o->view.p, &f, out);
	if (f.kind & FLAME_INLINED)
		buf_str(out, " (inlined)");
	if (file.len) {
		buf_str(out, "  ");
		profile_view_text(out, file);
		if (n->line)
			buf_printf(out, ":%u", n->line);
	}
	buf_str(out, "\n");
}

static void json_node(const struct tree_options *o, const struct flame_tree *t, uint32_t node,
		      uint32_t depth, struct buf *out)
{
	const struct flame_node *n = &t->nodes[node];
	struct flame_frame f = flame_tree_frame(t, n->frame);
	struct profile_text name = profile_text(&o->view.p, f.name);
	struct profile_text file = profile_text(&o->view.p, n->file);
	double total = t->nodes[0].weight ? (double)t->nodes[0].weight : 1;

	json_open(out, '{');
	json_key_number(out, "depth", depth);
	json_key_text(out, "function", name.p, name.len);
	json_key_text(out, "file", file.p, file.len);
	json_key_number(out, "line", n->line);
	json_key_bool(out, "inlined", f.kind & FLAME_INLINED);
	json_key_bool(out, "kernel", f.kind & FLAME_KERNEL);
	json_key_bool(out, "thread", f.kind & FLAME_THREAD);
	json_key_number(out, "weight", n->weight);
	json_key_share(out, "share", (double)n->weight / total);
	json_close(out, '}');
	buf_str(out, "\n");
}

/* Prints the tree depth first, without recursion, because each node knows its parent. */
static void print_tree(const struct tree_options *o, const struct flame_tree *t, struct buf *out)
{
	double share = (double)t->nodes[0].weight * o->min / 100;
	int64_t least = share < 0x1p63 ? (int64_t)share : INT64_MAX;
	uint32_t at = t->nodes[0].first_child, depth = 0;

	while (at != PROFILE_NONE && at != 0) {
		const struct flame_node *n = &t->nodes[at];
		bool shown = n->weight >= least && n->weight >= t->cutoff && n->weight > 0;

		if (shown && o->view.json)
			json_node(o, t, at, depth, out);
		else if (shown)
			text_node(o, t, at, depth, out);
		if (shown && depth + 1 < o->depth && n->first_child != PROFILE_NONE) {
			at = n->first_child;
			depth++;
			continue;
		}
		while (at != 0 && t->nodes[at].next_sibling == PROFILE_NONE) {
			at = t->nodes[at].parent;
			depth -= depth != 0;
		}
		at = at ? t->nodes[at].next_sibling : 0;
	}
}

static int run_tree(int argc, char **argv, struct err *err)
{
	_cleanup_(tree_options_done) struct tree_options o = {
		.nodes = 1000, .depth = LIMIT_TREE_DEPTH, .min = 1};
	_cleanup_(flame_tree_done) struct flame_tree tree = {0};
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct operands profiles;

	profile_view_init(&o.view);
	TRY(options_parse(&usage, argc, argv, &o, &profiles, err));
	TRY(profile_view_read(&o.view, profiles.list, profiles.count, err));
	TRY(flame_tree_make(&tree, &o.view.p, o.view.row, err));
	TRY(flame_tree_arrange(&tree, o.nodes, err));
	if (!o.view.json) {
		profile_view_amount(&o.view, tree.nodes[0].weight, &out);
		buf_str(&out, "\n");
	}
	print_tree(&o, &tree, &out);
	TRY(profile_view_print(&out, err));
	return profile_view_end(&o.view, err);
}

const struct command cmd_tree = {
	.usage = &usage,
	.run = run_tree,
	.summary = "show who calls whom, with the share of each call",
};
