/* SPDX-License-Identifier: Apache-2.0 */
#include "unit_lines.h"

#include <string.h>

#include "bisect.h"
#include "sort.h"

/* Consecutive rows of a line table with rising addresses. If several rows have one address, the
 * last counts. */
struct sequence {
	uint64_t low, high;
	size_t first, count; /* index in the unit's rows, or in work.rows */
	bool is_copied;      /* the rows are in work.rows */
};

/* Working state for one unit. */
struct work {
	const struct debug_unit *unit;
	const struct interval_overlay *code, *scopes;
	struct unit_lines *out;
	struct debug_row *rows; /* the rising rows of sequences in which some fall */
	struct sequence *sequences;
	size_t row_count, rows_cap, sequence_count, sequences_cap;
};

bool is_code(const struct interval_overlay *code, uint64_t start)
{
	size_t i;

	if (!code->count)
		return start != 0 && start < UINT64_MAX - 1 &&
		       (start < UINT32_MAX - 1 || start > UINT32_MAX);
	i = interval_overlay_find(code, start);
	return i < code->count && code->spans[i].start <= start;
}

/* Drops rows whose address falls. Compilers emit none, and their meaning would be a guess. */
static int drop_falling_rows(struct work *w, struct sequence *s, struct err *err)
{
	const struct debug_row *rows = w->unit->rows + s->first;
	size_t count = s->count;

	if (!GROW(w->rows, &w->rows_cap, w->row_count + count, SIZE_MAX))
		return err_no_memory(err);
	s->first = w->row_count;
	s->count = 0;
	s->is_copied = true;
	for (size_t i = 0; i < count; i++)
		if (!s->count || rows[i].vaddr >= w->rows[w->row_count - 1].vaddr) {
			w->rows[w->row_count++] = rows[i];
			s->count++;
		}
	return 0;
}

static const struct debug_row *rows_of_sequence(const struct work *w, const struct sequence *s)
{
	return (s->is_copied ? w->rows : w->unit->rows) + s->first;
}

/* Adds a sequence: `count` rows of the unit, of which the last is an end. */
static int add_line_sequence(struct work *w, size_t first, size_t count, struct err *err)
{
	const struct debug_row *rows = w->unit->rows + first;
	struct sequence *s;
	bool rises = true;
	int rc = 0;

	if (count < 2 || !is_code(w->code, rows[0].vaddr))
		return 0;
	if (!GROW(w->sequences, &w->sequences_cap, w->sequence_count + 1, SIZE_MAX))
		return err_no_memory(err);
	s = &w->sequences[w->sequence_count];
	*s = (struct sequence){.low = rows[0].vaddr, .first = first, .count = count};
	for (size_t i = 1; i < count; i++)
		rises &= rows[i].vaddr >= rows[i - 1].vaddr;
	if (!rises)
		rc = drop_falling_rows(w, s, err);
	s->high = rows_of_sequence(w, s)[s->count - 1].vaddr;
	w->sequence_count += s->high > s->low;
	return rc;
}

/* Orders by end, then by start; a stable sort keeps the table's order of equal ones. */
static inline bool ends_before(const struct sequence *a, const struct sequence *b)
{
	if (a->high != b->high)
		return a->high < b->high;
	return a->low < b->low;
}

DEFINE_SORT(sort_sequences, struct sequence, ends_before)

static int add_line_span(struct work *w, uint64_t start, uint64_t end, const struct debug_row *row,
			 struct err *err)
{
	if (start >= end)
		return 0;
	if (!GROW(w->out->all, &w->out->cap, w->out->count + 1, SIZE_MAX))
		return err_no_memory(err);
	w->out->all[w->out->count++] = (struct unit_line){.start = start,
							  .end = end,
							  .file = row->file,
							  .line = row->line,
							  .column_word = row->column_word};
	return 0;
}

/* Adds the lines of a sequence in [start, end). */
static int add_line_rows(struct work *w, const struct sequence *s, uint64_t start, uint64_t end,
			 struct err *err)
{
	const struct debug_row *rows = rows_of_sequence(w, s);
	/* The first row above start; the one before applies. Most sequences are visible from their
	 * start, which needs no search. */
	size_t above = start > s->low ? BISECT(s->count, row, rows[row].vaddr <= start) : 0;

	for (size_t i = above ? above - 1 : 0; i + 1 < s->count && rows[i].vaddr < end; i++) {
		uint64_t from = rows[i].vaddr > start ? rows[i].vaddr : start;
		uint64_t to = rows[i + 1].vaddr < end ? rows[i + 1].vaddr : end;

		TRY(add_line_span(w, from, to, &rows[i], err));
	}
	return 0;
}

/* Returns the smallest distance of a line of the sequence from the declaration of the function at
 * its start, or UINT32_MAX if it has no line of that file at or below the declaration. */
static uint32_t sequence_distance(const struct work *w, const struct sequence *s)
{
	size_t i = interval_overlay_find(w->scopes, s->low);
	const struct debug_scope *scope;
	uint32_t best = UINT32_MAX;

	if (i == w->scopes->count || w->scopes->spans[i].start > s->low)
		return best;
	scope = &w->unit->scopes[w->scopes->spans[i].value];
	while (scope->parent != DEBUG_NONE)
		scope = &w->unit->scopes[scope->parent];
	if (scope->decl_file == DEBUG_NONE)
		return best;
	for (size_t at = 0; at + 1 < s->count; at++) {
		const struct debug_row *r = rows_of_sequence(w, s) + at;

		/* A row that the next one at its address replaces does not count. */
		if (r[1].vaddr == r->vaddr && !r[1].end)
			continue;
		if (r->file == scope->decl_file && r->line >= scope->decl_line &&
		    r->line - scope->decl_line < best)
			best = r->line - scope->decl_line;
	}
	return best;
}

/* Functions that the linker folded into one each have a sequence at its address. This puts the
 * sequence first whose lines are nearest to the declaration of the function that is shown. */
static void order_folded(struct work *w)
{
	struct sequence *all = w->sequences;

	for (size_t i = 0, end; i < w->sequence_count; i = end) {
		size_t best = i;
		uint32_t least = UINT32_MAX;

		for (end = i + 1; end < w->sequence_count && all[end].high == all[i].high &&
				  all[end].low == all[i].low;)
			end++;
		for (size_t k = i; k < end && end > i + 1; k++) {
			uint32_t d = sequence_distance(w, &all[k]);

			if (d < least) {
				least = d;
				best = k;
			}
		}
		if (best != i) {
			struct sequence first = all[best];

			memmove(&all[i + 1], &all[i], (best - i) * sizeof(*all));
			all[i] = first;
		}
	}
}

/* Makes the lines disjoint. Where sequences overlap, the one that ends first wins, as in LLVM's
 * search by end. */
static int make_lines(struct work *w, struct err *err)
{
	const struct debug_unit *u = w->unit;
	_cleanup_(freep) struct sequence *tmp = NULL;
	_cleanup_(interval_overlay_done) struct interval_overlay p =
		INTERVAL_OVERLAY_INIT(SIZE_MAX);
	size_t first = 0;

	for (size_t i = 0; i < u->row_count; i++) {
		if (!u->rows[i].end)
			continue;
		TRY(add_line_sequence(w, first, i + 1 - first, err));
		first = i + 1;
	}
	if (!w->sequence_count)
		return 0;
	tmp = malloc((w->sequence_count / 2 + 1) * sizeof(*tmp));
	if (!tmp)
		return err_no_memory(err);
	sort_sequences(w->sequences, tmp, w->sequence_count);
	order_folded(w);
	for (size_t i = 0; i < w->sequence_count; i++)
		if (!interval_overlay_add(&p, w->sequences[i].low, w->sequences[i].high,
					  w->sequence_count - i, (uint32_t)i))
			return err_no_memory(err);
	TRY(interval_overlay_flatten(&p, err));
	for (size_t i = 0; i < p.count; i++)
		TRY(add_line_rows(w, &w->sequences[p.spans[i].value], p.spans[i].start,
				  p.spans[i].end, err));
	return 0;
}

int unit_lines_make(struct unit_lines *lines, const struct debug_unit *unit,
		    const struct interval_overlay *code, const struct interval_overlay *scopes,
		    struct err *err)
{
	struct work w = {.unit = unit, .code = code, .scopes = scopes, .out = lines};
	int rc = make_lines(&w, err);

	free(w.rows);
	free(w.sequences);
	return rc;
}

void unit_lines_done(struct unit_lines *lines)
{
	free(lines->all);
	*lines = (struct unit_lines){};
}
