/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack peek`: a function between its callers and its callees. */
#include <inttypes.h>
#include <string.h>

#include "call_graph.h"
#include "profile_view.h"

struct peek_options {
	struct profile_view view;
	struct text_match match;
	uint64_t functions;
};

static void peek_options_done(struct peek_options *o)
{
	profile_view_done(&o->view);
	text_match_done(&o->match);
}

static const struct option_row rows[] = {
	OPTION_NUMBER('n', NULL, "N", struct peek_options, functions, 1, UINT32_MAX, 1,
		      "show at most N functions (10)"),
	VIEW_DIFF_ROW(struct peek_options, VIEW_DIFF_HELP),
	OPTION_ROWS(struct peek_options, view, profile_view_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack peek",
	.synopsis = "[OPTIONS] REGEX DIR|FILE...",
	.about = "Prints, for each function whose name matches, its callers, its own share (self), "
		 "its share with all that it calls (cum), and its callees. Shares of callers and "
		 "callees are of the function's weight; in a difference they are of the whole "
		 "profile.",
	.rows = rows,
	.operands_min = 2,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "give a REGEX and a profile",
	.notes = FILTER_NOTES,
};

struct side {
	uint32_t node;
	int64_t weight;
};

/* Returns the absolute value, because in a difference a fall counts as much as a rise. */
static uint64_t size_of_weight(int64_t weight)
{
	return weight < 0 ? -(uint64_t)weight : (uint64_t)weight;
}

static int by_weight(const void *x, const void *y)
{
	const struct side *a = x, *b = y;

	if (size_of_weight(a->weight) != size_of_weight(b->weight))
		return size_of_weight(a->weight) < size_of_weight(b->weight) ? 1 : -1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static const char *const nobody[] = {"[nobody: outermost]", "[itself]"};

static struct profile_text name_of_node(const struct peek_options *o, const struct call_graph *g,
					uint32_t node)
{
	struct profile_text t = profile_text(&o->view.p, g->nodes[node].name);

	return t.len ? t : (struct profile_text){"[no name]", 9};
}

/* Appends a function's name, with its home if the name alone does not tell it from others. */
static void append_peek_name(const struct peek_options *o, const struct call_graph *g,
			     uint32_t node, struct buf *out)
{
	const struct call_node *n = &g->nodes[node];

	profile_view_text(out, name_of_node(o, g, node));
	if (!n->is_shared || !n->home.len)
		return;
	buf_str(out, "  (");
	profile_view_text(out, n->home);
	buf_str(out, ")");
}

static void json_home(const struct call_graph *g, uint32_t node, struct buf *out)
{
	const struct profile_text home =
		node == PROFILE_NONE ? (struct profile_text){"", 0} : g->nodes[node].home;

	json_key_text(out, "home", home.p, home.len);
}

static void print_side(const struct peek_options *o, const struct call_graph *g, uint32_t node,
		       const struct side *s, bool callers, struct buf *out)
{
	bool none = s->node == PROFILE_NONE;
	const char *no_name = nobody[!callers];
	struct profile_text name = none ? (struct profile_text){no_name, strlen(no_name)}
					: name_of_node(o, g, s->node);
	int64_t cum = o->view.filter.diff_base ? g->total : g->nodes[node].cum;

	if (o->view.json) {
		struct profile_text function = name_of_node(o, g, node);

		json_open(out, '{');
		json_key_cstr(out, "kind", callers ? "caller" : "callee");
		json_key_text(out, "of", function.p, function.len);
		json_key_text(out, "function", none ? "" : name.p, none ? 0 : name.len);
		json_home(g, s->node, out);
		json_key_number(out, "weight", s->weight);
		json_key_share(out, "share", cum ? (double)s->weight / (double)cum : 0);
		json_close(out, '}');
		buf_str(out, "\n");
		return;
	}
	buf_str(out, callers ? "  " : "      ");
	text_share(out, (double)s->weight, (double)cum);
	buf_str(out, callers ? "  called by " : "  calls ");
	if (none)
		profile_view_text(out, name);
	else
		append_peek_name(o, g, s->node, out);
	buf_str(out, "\n");
}

static int print_sides(const struct peek_options *o, const struct call_graph *g, uint32_t node,
		       bool callers, struct buf *out, struct err *err)
{
	_cleanup_(freep) struct side *sides = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < g->pairs.count; i++) {
		const struct call_edge *e = &g->edges[i];

		if ((callers ? e->callee : e->caller) != node || !e->weight)
			continue;
		if (!GROW(sides, &cap, count + 1, LIMIT_PROFILE_ENTRIES))
			return err_no_memory(err);
		sides[count++] = (struct side){callers ? e->caller : e->callee, e->weight};
	}
	if (count)
		qsort(sides, count, sizeof(*sides), by_weight);
	for (size_t i = 0; i < count; i++)
		print_side(o, g, node, &sides[i], callers, out);
	return 0;
}

static void print_peek_head(const struct peek_options *o, const struct call_graph *g, uint32_t node,
			    struct buf *out)
{
	const struct call_node *n = &g->nodes[node];
	struct profile_text name = name_of_node(o, g, node);

	if (o->view.json) {
		json_open(out, '{');
		json_key_cstr(out, "kind", "function");
		json_key_text(out, "function", name.p, name.len);
		json_home(g, node, out);
		json_key_number(out, "self", n->self);
		json_key_number(out, "cum", n->cum);
		json_key_share(out, "cum_share", g->total ? (double)n->cum / (double)g->total : 0);
		json_close(out, '}');
		buf_str(out, "\n");
		return;
	}
	text_share(out, (double)n->self, (double)g->total);
	buf_str(out, " self  ");
	text_share(out, (double)n->cum, (double)g->total);
	buf_str(out, " cum  ");
	append_peek_name(o, g, node, out);
	buf_str(out, "\n");
}

/* Prints the functions that match, heaviest first. */
static int print_peek(const struct peek_options *o, const struct call_graph *g, struct buf *out,
		      struct err *err)
{
	_cleanup_(freep) struct side *found = NULL;
	size_t count = 0, cap = 0;

	for (uint32_t i = 0; i < g->functions.count; i++) {
		struct profile_text t = profile_text(&o->view.p, g->nodes[i].name);

		if (!text_match(&o->match, t.p, t.len))
			continue;
		if (!GROW(found, &cap, count + 1, LIMIT_PROFILE_ENTRIES))
			return err_no_memory(err);
		found[count++] = (struct side){i, g->nodes[i].cum};
	}
	if (!count)
		return err_set(err, ERR_NOT_FOUND, "peek: no function of the profile matches");
	qsort(found, count, sizeof(*found), by_weight);
	for (size_t i = 0; i < count && i < o->functions; i++) {
		if (i && !o->view.json)
			buf_str(out, "\n");
		if (!o->view.json)
			TRY(print_sides(o, g, found[i].node, true, out, err));
		print_peek_head(o, g, found[i].node, out);
		if (o->view.json)
			TRY(print_sides(o, g, found[i].node, true, out, err));
		TRY(print_sides(o, g, found[i].node, false, out, err));
	}
	if (count > o->functions && !o->view.json)
		buf_printf(out, "\n%zu more functions match (-n)\n", count - (size_t)o->functions);
	return 0;
}

static int run_peek(int argc, char **argv, struct err *err)
{
	_cleanup_(peek_options_done) struct peek_options o = {.functions = 10};
	_cleanup_(call_graph_done) struct call_graph g = {0};
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct operands operands;

	profile_view_init(&o.view);
	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	TRY(text_match_compile(&o.match, "peek", operands.list[0], err));
	TRY(profile_view_read(&o.view, operands.list + 1, operands.count - 1, err));
	TRY(call_graph_make(&g, &o.view.p, o.view.row, err));
	g.total = profile_view_whole(&o.view, g.total);
	TRY(print_peek(&o, &g, &out, err));
	TRY(profile_view_print(&out, err));
	return profile_view_end(&o.view, err);
}

const struct command cmd_peek = {
	.usage = &usage,
	.run = run_peek,
	.summary = "show a function between its callers and its callees",
};
