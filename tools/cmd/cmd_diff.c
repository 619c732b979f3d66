/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack diff`: what changed between two profiles. */
#include <inttypes.h>
#include <string.h>

#include "profile_view.h"
#include "ranking.h"

struct diff_options {
	struct profile_view view;
	uint64_t rows;
	bool cum;
};

static void diff_options_done(struct diff_options *o)
{
	profile_view_done(&o->view);
}

/* A function of either profile, told from others by name and home (function_set.h). */
struct change {
	struct profile_text name, file;
	uint32_t line;
	double before, after; /* shares */
	int64_t before_weight, after_weight;
	bool is_after; /* it is in the second profile */
	bool is_gone;  /* it was joined to another change */
};

struct changes {
	struct intern keys;
	struct intern places; /* name and file of a line, whatever the home */
	uint32_t *at_place;   /* the change there, or PROFILE_NONE: several */
	size_t places_cap;
	struct change *list;
	size_t cap;
};

static void changes_done(struct changes *c)
{
	intern_done(&c->keys);
	intern_done(&c->places);
	free(c->at_place);
	free(c->list);
}

static bool make_key(struct buf *key, struct profile_text name, struct profile_text place)
{
	buf_append(key, name.p, name.len);
	buf_u8(key, 0);
	buf_append(key, place.p, place.len);
	return !key->failed;
}

/* Remembers where the lines of a function of the first profile are. */
static bool note_place(struct changes *c, const struct ranking_row *row, uint32_t change)
{
	_cleanup_(buf_done) struct buf key = BUF_INIT(LIMIT_PROFILE_STRING * 3);
	bool fresh;
	uint32_t id;

	if (!row->file.len)
		return true;
	id = make_key(&key, row->name, row->file) ? intern_add(&c->places, key.p, key.len, &fresh)
						  : INTERN_FULL;
	if (id == INTERN_FULL ||
	    !GROW(c->at_place, &c->places_cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return false;
	if (fresh)
		c->at_place[id] = change;
	else if (c->at_place[id] != change)
		c->at_place[id] = PROFILE_NONE;
	return true;
}

static void add_change_row(struct change *at, const struct ranking *r,
			   const struct ranking_row *row, bool cum, bool after)
{
	int64_t weight = cum ? row->cum : row->self;

	if (!at->line || after) {
		at->line = row->line;
		at->file = row->file;
	}
	at->is_after |= after;
	/* An inlined and an out-of-line copy of a function are two rows of one name. */
	*(after ? &at->after : &at->before) += r->total ? (double)weight / (double)r->total : 0;
	add_capped(after ? &at->after_weight : &at->before_weight, weight);
}

static bool add_ranking(struct changes *c, const struct ranking *r, bool cum, bool after)
{
	for (size_t i = 0; i < r->row_count; i++) {
		_cleanup_(buf_done) struct buf key = BUF_INIT(LIMIT_PROFILE_STRING * 3);
		const struct ranking_row *row = &r->rows[i];
		bool fresh;
		uint32_t id;

		id = make_key(&key, row->name, row->home)
			     ? intern_add(&c->keys, key.p, key.len, &fresh)
			     : INTERN_FULL;
		if (id == INTERN_FULL ||
		    !GROW(c->list, &c->cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
			return false;
		if (fresh)
			c->list[id] = (struct change){.name = row->name, .file = row->file};
		add_change_row(&c->list[id], r, row, cum, after);
		if (!after && !note_place(c, row, id))
			return false;
	}
	return true;
}

/*
 * Files of older versions have the file of a line in place of that of the declaration, so a
 * function may have another home in one of the profiles. A function that only the second profile
 * has is joined to the one of that name that only the first has, if no other of that name has lines
 * in that file.
 */
static void join_places(struct changes *c)
{
	for (uint32_t i = 0; i < c->keys.count; i++) {
		_cleanup_(buf_done) struct buf key = BUF_INIT(LIMIT_PROFILE_STRING * 3);
		struct change *at = &c->list[i], *other;
		uint32_t id;

		if (!at->is_after || at->before_weight || at->before != 0 ||
		    !make_key(&key, at->name, at->file))
			continue;
		id = intern_find(&c->places, key.p, key.len);
		if (id == INTERN_FULL || c->at_place[id] == PROFILE_NONE || c->at_place[id] == i)
			continue;
		other = &c->list[c->at_place[id]];
		if (other->is_after)
			continue;
		other->is_after = true;
		other->after = at->after;
		other->after_weight = at->after_weight;
		other->line = at->line;
		at->after = 0;
		at->after_weight = 0;
		at->is_gone = true;
	}
}

static double size_of_change(const struct change *c)
{
	double d = c->after - c->before;

	return d < 0 ? -d : d;
}

static int by_size(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	double d = size_of_change(a) - size_of_change(b);
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int rc;

	if (a->is_gone != b->is_gone)
		return a->is_gone - b->is_gone;
	if (d != 0)
		return d < 0 ? 1 : -1;
	rc = memcmp(a->name.p, b->name.p, len);
	return rc ? rc : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

static void print_diff_json(const struct changes *c, uint64_t rows, struct buf *out)
{
	for (size_t i = 0; i < c->keys.count && i < rows && !c->list[i].is_gone; i++) {
		const struct change *at = &c->list[i];

		json_open(out, '{');
		json_key_text(out, "function", at->name.p, at->name.len);
		json_key_text(out, "file", at->file.p, at->file.len);
		json_key_number(out, "line", at->line);
		json_key_number(out, "before", at->before_weight);
		json_key_number(out, "after", at->after_weight);
		json_key_share(out, "before_share", at->before);
		json_key_share(out, "after_share", at->after);
		json_close(out, '}');
		buf_str(out, "\n");
	}
}

static int print_table(const struct changes *c, uint64_t rows, struct buf *out)
{
	_cleanup_(text_table_done) struct text_table t;

	text_table_init(&t, 5, 7);
	text_table_cstr(&t, "before");
	text_table_cstr(&t, "after");
	text_table_cstr(&t, "change");
	text_table_cstr(&t, "function");
	text_table_cstr(&t, "file:line");
	for (size_t i = 0; i < c->keys.count && i < rows && !c->list[i].is_gone; i++) {
		const struct change *at = &c->list[i];

		text_share(text_table_cell(&t), at->before, 1);
		text_table_end(&t);
		text_share(text_table_cell(&t), at->after, 1);
		text_table_end(&t);
		buf_printf(text_table_cell(&t), "%+.1f", 100 * (at->after - at->before));
		text_table_end(&t);
		profile_view_text(text_table_cell(&t), at->name);
		text_table_end(&t);
		profile_view_text(text_table_cell(&t), at->file);
		if (at->file.len && at->line)
			buf_printf(text_table_cell(&t), ":%u", at->line);
		text_table_end(&t);
	}
	return text_table_print(&t, out);
}

static int compare_profiles(const struct diff_options *b, const struct diff_options *a,
			    struct changes *c, struct buf *out, struct err *err)
{
	_cleanup_(ranking_done) struct ranking before = {0}, after = {0};

	TRY(ranking_make(&before, &b->view.p, b->view.row, b->cum, err));
	TRY(ranking_make(&after, &a->view.p, a->view.row, a->cum, err));
	if (!add_ranking(c, &before, b->cum, false) || !add_ranking(c, &after, a->cum, true))
		return err_no_memory(err);
	join_places(c);
	if (c->keys.count)
		qsort(c->list, c->keys.count, sizeof(*c->list), by_size);
	if (b->view.json) {
		print_diff_json(c, b->rows, out);
		return 0;
	}
	buf_str(out, "before: ");
	profile_view_amount(&b->view, before.total, out);
	buf_str(out, "; after: ");
	profile_view_amount(&a->view, after.total, out);
	buf_str(out, "; shares are of each\n");
	return print_table(c, b->rows, out) ? err_no_memory(err) : 0;
}

static const struct option_row rows[] = {
	OPTION_NUMBER('n', NULL, "N", struct diff_options, rows, 1, UINT32_MAX, 1,
		      "show at most N rows (20)"),
	OPTION_FLAG(0, "cum", struct diff_options, cum,
		    "compare shares that include called functions (cum)"),
	OPTION_ROWS(struct diff_options, view, profile_view_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack diff",
	.synopsis = "[OPTIONS] BEFORE AFTER",
	.about = "Compares two profiles, or directories of profiles. Prints the functions whose "
		 "share changed most, with their share of each profile and the difference in "
		 "percentage points.",
	.rows = rows,
	.operands_min = 2,
	.operands_max = 2,
	.operands_wanted = "give two profiles",
	.notes = FILTER_NOTES,
};

static int run_diff(int argc, char **argv, struct err *err)
{
	_cleanup_(diff_options_done) struct diff_options before = {.rows = 20},
							 after = {.rows = 20};
	_cleanup_(changes_done) struct changes c = {
		.keys = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
		.places = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES)};
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct operands profiles;

	profile_view_init(&before.view);
	profile_view_init(&after.view);
	/* Options are parsed twice, so that both profiles are read through equal filters. */
	TRY(options_parse(&usage, argc, argv, &before, &profiles, err));
	TRY(options_parse(&usage, argc, argv, &after, &profiles, err));
	TRY(profile_view_read(&before.view, profiles.list, 1, err));
	TRY(profile_view_read(&after.view, profiles.list + 1, 1, err));
	TRY(compare_profiles(&before, &after, &c, &out, err));
	TRY(profile_view_print(&out, err));
	TRY(profile_view_end(&before.view, err));
	return profile_view_end(&after.view, err);
}

const struct command cmd_diff = {
	.usage = &usage,
	.run = run_diff,
	.summary = "show what changed between two profiles",
};
