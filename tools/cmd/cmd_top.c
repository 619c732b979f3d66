/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack top`: the functions that cost most. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "name_advice.h"
#include "ranking.h"
#include "stack_share.h"

struct top_options {
	uint64_t rows;
	bool cum;
	struct profile_view view;
};

/* At most so many modules without names are listed; the sum includes the others. */
#define MODULES_SHOWN 8

static void print_top_head(struct buf *out, const struct profile_view *v, const struct ranking *r)
{
	const struct profile *p = &v->p;
	int64_t samples = 0;
	uint32_t type = profile_value_index(p, "samples");
	struct stack_share stacks;

	profile_view_amount(v, r->total, out);
	if (type != PROFILE_NONE && type != v->row) {
		for (uint32_t i = 0; i < p->samples.count; i++)
			add_capped(&samples, profile_values(p, i)[type]);
		buf_printf(out, " in %" PRId64 " samples", samples);
	}
	buf_str(out, "\n");
	stack_share_count(&stacks, v);
	stack_share_text(&stacks, out);
}

static void append_top_place(struct buf *out, const struct ranking_row *row)
{
	if (row->kernel && !row->file.len && row->named) {
		buf_str(out, "[kernel]");
		return;
	}
	/* Functions of one name in two binaries are two rows. */
	if (!row->file.len && row->named && row->module.len) {
		const struct profile_text base = function_base_name(row->module);

		buf_str(out, "[");
		profile_view_text(out, base);
		buf_str(out, "]");
	}
	profile_view_text(out, row->file);
	if (row->file.len && row->line)
		buf_printf(out, ":%u", row->line);
}

static int print_rows(struct buf *out, const struct ranking *r, uint64_t limit)
{
	_cleanup_(text_table_done) struct text_table t;

	text_table_init(&t, 4, 3);
	text_table_cstr(&t, "self");
	text_table_cstr(&t, "cum");
	text_table_cstr(&t, "function");
	text_table_cstr(&t, "file:line");
	for (size_t i = 0; i < r->row_count && i < limit; i++) {
		const struct ranking_row *row = &r->rows[i];

		text_share(text_table_cell(&t), (double)row->self, (double)r->total);
		text_table_end(&t);
		text_share(text_table_cell(&t), (double)row->cum, (double)r->total);
		text_table_end(&t);
		if (row->name.len)
			profile_view_text(text_table_cell(&t), row->name);
		else
			buf_str(text_table_cell(&t), "[no name]");
		if (row->inlined)
			buf_str(text_table_cell(&t), " (inlined)");
		text_table_end(&t);
		append_top_place(text_table_cell(&t), row);
		text_table_end(&t);
	}
	return text_table_print(&t, out);
}

static void print_unnamed(struct buf *out, const struct profile_view *v, const struct ranking *r)
{
	if (!r->unnamed_self)
		return;
	buf_str(out, "\ninnermost frames without a name: ");
	text_share(out, (double)r->unnamed_self, (double)r->total);
	buf_str(out, "\n");
	for (size_t i = 0; i < r->unnamed_count && i < MODULES_SHOWN; i++) {
		buf_str(out, "  ");
		text_share(out, (double)r->unnamed[i].self, (double)r->total);
		buf_str(out, "  ");
		name_advice_text(out, v, r->unnamed[i].module);
	}
}

static int print_top_json(struct buf *out, const struct profile_view *v, const struct ranking *r,
			  uint64_t limit)
{
	double total = r->total ? (double)r->total : 1;
	struct stack_share stacks;

	for (size_t i = 0; i < r->row_count && i < limit; i++) {
		const struct ranking_row *row = &r->rows[i];

		json_open(out, '{');
		json_key_cstr(out, "kind", "function");
		json_key_text(out, "function", row->name.p, row->name.len);
		json_key_text(out, "file", row->file.p, row->file.len);
		json_key_number(out, "line", row->line);
		json_key_text(out, "module", row->module.p, row->module.len);
		json_key_bool(out, "inlined", row->inlined);
		json_key_bool(out, "kernel", row->kernel);
		json_key_bool(out, "named", row->named);
		json_key_number(out, "self", row->self);
		json_key_number(out, "cum", row->cum);
		json_key_share(out, "self_share", (double)row->self / total);
		json_key_share(out, "cum_share", (double)row->cum / total);
		json_close(out, '}');
		buf_str(out, "\n");
	}
	for (size_t i = 0; i < r->unnamed_count; i++) {
		const struct ranking_module *u = &r->unnamed[i];
		json_open(out, '{');
		json_key_cstr(out, "kind", "unnamed");
		name_advice_json(out, v, u->module);
		json_key_number(out, "self", u->self);
		json_key_share(out, "self_share", (double)u->self / total);
		json_close(out, '}');
		buf_str(out, "\n");
	}
	json_open(out, '{');
	json_key_cstr(out, "kind", "total");
	json_key_number(out, "self", r->total);
	json_key_share(out, "unnamed_share", (double)r->unnamed_self / total);
	stack_share_count(&stacks, v);
	stack_share_json(&stacks, out);
	json_close(out, '}');
	buf_str(out, "\n");
	return out->failed ? ERR_MEMORY : 0;
}

static const struct option_row rows[] = {
	OPTION_NUMBER('n', NULL, "N", struct top_options, rows, 1, UINT32_MAX, 1,
		      "show at most N rows (20)"),
	OPTION_FLAG(0, "cum", struct top_options, cum, "sort by cum"),
	VIEW_DIFF_ROW(struct top_options, VIEW_DIFF_HELP),
	OPTION_ROWS(struct top_options, view, profile_view_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack top",
	.synopsis = "[OPTIONS] DIR|FILE...",
	.about = "Reads profiles, directories of profiles such as the shipper's --out, and spools, "
		 "and prints the functions with the most weight. self is the share of samples in "
		 "which the function is the innermost frame, cum the share in which it is anywhere "
		 "in the stack; the line is the one with most of the weight. Above the functions "
		 "stands how many stacks are whole, as in `stats`; below them the binaries whose "
		 "names are missing.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static void top_options_done(struct top_options *o)
{
	profile_view_done(&o->view);
}

static int run_top(int argc, char **argv, struct err *err)
{
	_cleanup_(top_options_done) struct top_options o = {.rows = 20};
	_cleanup_(ranking_done) struct ranking r = {0};
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	const struct profile *p = &o.view.p;
	struct operands profiles;
	int rc;

	profile_view_init(&o.view);
	TRY(options_parse(&usage, argc, argv, &o, &profiles, err));
	TRY(profile_view_read(&o.view, profiles.list, profiles.count, err));
	TRY(ranking_make(&r, p, o.view.row, o.cum, err));
	r.total = profile_view_whole(&o.view, r.total);
	/* Rows of a group are no functions, so missing names and binaries of rows mean nothing. */
	if (o.view.filter.group != GROUP_FUNCTION) {
		r.unnamed_self = (int64_t)(r.unnamed_count = 0);
		for (size_t i = 0; i < r.row_count; i++)
			r.rows[i].module = (struct profile_text){"", 0};
	}
	if (o.view.json) {
		rc = print_top_json(&out, &o.view, &r, o.rows);
	} else {
		print_top_head(&out, &o.view, &r);
		rc = print_rows(&out, &r, o.rows);
		print_unnamed(&out, &o.view, &r);
	}
	out.failed |= rc != 0;
	TRY(profile_view_print(&out, err));
	return profile_view_end(&o.view, err);
}

const struct command cmd_top = {
	.usage = &usage,
	.run = run_top,
	.summary = "show the functions that cost most in a profile",
};
