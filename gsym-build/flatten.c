/* SPDX-License-Identifier: Apache-2.0 */
#include "flatten.h"

#include <assert.h>
#include <string.h>

#include "limits.h"
#include "sort.h"

#define FLAT_MAX ((size_t)UINT32_MAX - 1)

/* Consecutive rows of a line table that rise, from low to high. Of several at one address the last
 * counts. */
struct sequence {
	uint64_t low, high;
	size_t first, count; /* in the unit's rows, or in those of the work */
	bool sorted_out;     /* in those of the work */
};

struct line {
	uint64_t start, end;
	uint32_t file, line, spot;
};

/* What lives for one unit. */
struct work {
	struct flat *f;
	const struct facts_unit *unit;
	struct facts_row *rows; /* of sequences in which not all rise: those that do */
	struct sequence *sequences;
	struct line *lines; /* sorted, disjoint */
	uint32_t *node_of;  /* by scope */
	size_t row_count, rows_cap, sequence_count, sequences_cap, line_count, lines_cap;
	struct paint scopes;  /* value: scope */
	struct paint covered; /* what the unit claims */
};

static void work_done(struct work *w)
{
	free(w->rows);
	free(w->sequences);
	free(w->lines);
	free(w->node_of);
	paint_done(&w->scopes);
	paint_done(&w->covered);
}

void flat_done_rows(struct flat *f)
{
	free(f->rows);
	free(f->pieces);
	f->rows = NULL;
	f->pieces = NULL;
	f->row_count = f->rows_cap = f->piece_count = f->pieces_cap = 0;
}

void flat_done(struct flat *f)
{
	flat_done_rows(f);
	free(f->nodes);
	aliases_done(&f->hidden);
	paint_done(&f->code);
	*f = (struct flat){.code = PAINT_INIT(SIZE_MAX)};
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory");
}

/* Linkers cannot delete the debug information of code they drop, so they move it to addresses that
 * no code has: 0, or one of the two highest of 32 or 64 bits (DWARF 6 proposal 200609.1). */
static bool is_code(const struct flat *f, uint64_t start)
{
	size_t i;

	if (!f->code.count)
		return start != 0 && start < UINT64_MAX - 1 &&
		       (start < UINT32_MAX - 1 || start > UINT32_MAX);
	i = paint_find(&f->code, start);
	return i < f->code.count && f->code.spans[i].start <= start;
}

/* Rows that fall are never seen in real files; a reader would have to guess. */
static int sort_out(struct work *w, struct sequence *s, struct err *err)
{
	const struct facts_row *rows = w->unit->rows + s->first;
	size_t count = s->count;

	if (!grow_array((void **)&w->rows, &w->rows_cap, w->row_count + count, sizeof(*w->rows),
			SIZE_MAX))
		return no_memory(err);
	s->first = w->row_count;
	s->count = 0;
	s->sorted_out = true;
	for (size_t i = 0; i < count; i++)
		if (!s->count || rows[i].vaddr >= w->rows[w->row_count - 1].vaddr) {
			w->rows[w->row_count++] = rows[i];
			s->count++;
		}
	return 0;
}

static const struct facts_row *rows_of(const struct work *w, const struct sequence *s)
{
	return (s->sorted_out ? w->rows : w->unit->rows) + s->first;
}

/* Rows of the unit, of which the last is an end. */
static int add_sequence(struct work *w, size_t first, size_t count, struct err *err)
{
	const struct facts_row *rows = w->unit->rows + first;
	struct sequence *s;
	bool rises = true;
	int rc = 0;

	if (count < 2 || !is_code(w->f, rows[0].vaddr))
		return 0;
	if (!grow_array((void **)&w->sequences, &w->sequences_cap, w->sequence_count + 1,
			sizeof(*w->sequences), SIZE_MAX))
		return no_memory(err);
	s = &w->sequences[w->sequence_count];
	*s = (struct sequence){.low = rows[0].vaddr, .first = first, .count = count};
	for (size_t i = 1; i < count; i++)
		rises &= rows[i].vaddr >= rows[i - 1].vaddr;
	if (!rises)
		rc = sort_out(w, s, err);
	s->high = rows_of(w, s)[s->count - 1].vaddr;
	w->sequence_count += s->high > s->low;
	return rc;
}

/* By end, then by begin; of equal ones the first in the table. */
static inline bool ends_before(const struct sequence *a, const struct sequence *b)
{
	if (a->high != b->high)
		return a->high < b->high;
	return a->low < b->low;
}

DEFINE_SORT(sort_sequences, struct sequence, ends_before)

static int add_line(struct work *w, uint64_t start, uint64_t end, const struct facts_row *row,
		    struct err *err)
{
	if (start >= end)
		return 0;
	if (!grow_array((void **)&w->lines, &w->lines_cap, w->line_count + 1, sizeof(*w->lines),
			SIZE_MAX))
		return no_memory(err);
	w->lines[w->line_count++] = (struct line){.start = start,
						  .end = end,
						  .file = row->file,
						  .line = row->line,
						  .spot = row->spot};
	return 0;
}

/* The lines of a sequence in [start, end). */
static int add_lines(struct work *w, const struct sequence *s, uint64_t start, uint64_t end,
		     struct err *err)
{
	const struct facts_row *rows = rows_of(w, s);
	/* Most are seen from their start. */
	size_t low = 0, count = start > s->low ? s->count : 0;

	while (count) { /* the first row above start; the one before it counts there */
		size_t half = count / 2;

		if (rows[low + half].vaddr <= start) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	for (size_t i = low ? low - 1 : 0; i + 1 < s->count && rows[i].vaddr < end; i++) {
		uint64_t from = rows[i].vaddr > start ? rows[i].vaddr : start;
		uint64_t to = rows[i + 1].vaddr < end ? rows[i + 1].vaddr : end;
		int rc = add_line(w, from, to, &rows[i], err);

		if (rc)
			return rc;
	}
	return 0;
}

/* How far behind the declaration of the function at its start a sequence begins to speak of it;
 * UINT32_MAX: it has no line of that function's file from there on. */
static uint32_t distance(const struct work *w, const struct sequence *s)
{
	size_t i = paint_find(&w->scopes, s->low);
	const struct facts_scope *scope;
	uint32_t best = UINT32_MAX;

	if (i == w->scopes.count || w->scopes.spans[i].start > s->low)
		return best;
	scope = &w->unit->scopes[w->scopes.spans[i].value];
	while (scope->parent != FACTS_NONE)
		scope = &w->unit->scopes[scope->parent];
	if (scope->decl_file == FACTS_NONE)
		return best;
	for (size_t at = 0; at + 1 < s->count; at++) {
		const struct facts_row *r = rows_of(w, s) + at;

		/* One that another takes the place of does not count. */
		if (r[1].vaddr == r->vaddr && !r[1].end)
			continue;
		if (r->file == scope->decl_file && r->line >= scope->decl_line &&
		    r->line - scope->decl_line < best)
			best = r->line - scope->decl_line;
	}
	return best;
}

/* Functions that the linker folded into one each have a sequence at its address. First comes the
 * one that is nearest to the declaration of the function that is shown. */
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
			uint32_t d = distance(w, &all[k]);

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

/* Overlapping sequences: the one that ends first has the address, as LLVM's search by end does. */
static int make_lines(struct work *w, struct err *err)
{
	const struct facts_unit *u = w->unit;
	_cleanup_(freep) struct sequence *tmp = NULL;
	struct paint p = PAINT_INIT(SIZE_MAX);
	size_t first = 0;
	int rc = 0;

	for (size_t i = 0; i < u->row_count && !rc; i++) {
		if (!u->rows[i].end)
			continue;
		rc = add_sequence(w, first, i + 1 - first, err);
		first = i + 1;
	}
	if (rc || !w->sequence_count)
		return rc;
	tmp = malloc((w->sequence_count / 2 + 1) * sizeof(*tmp));
	if (!tmp)
		return no_memory(err);
	sort_sequences(w->sequences, tmp, w->sequence_count);
	order_folded(w);
	for (size_t i = 0; i < w->sequence_count && !rc; i++)
		if (!paint_add(&p, w->sequences[i].low, w->sequences[i].high, w->sequence_count - i,
			       (uint32_t)i))
			rc = no_memory(err);
	if (!rc)
		rc = paint_flatten(&p, err);
	for (size_t i = 0; i < p.count && !rc; i++)
		rc = add_lines(w, &w->sequences[p.spans[i].value], p.spans[i].start, p.spans[i].end,
			       err);
	paint_done(&p);
	return rc;
}

uint32_t flat_add_node(struct flat *f, const struct flat_node *node)
{
	if (!grow_array((void **)&f->nodes, &f->nodes_cap, f->node_count + 1, sizeof(*f->nodes),
			FLAT_MAX))
		return FACTS_NONE;
	f->nodes[f->node_count] = *node;
	return (uint32_t)f->node_count++;
}

/* The node of a scope, made with all its parents when first asked for. */
static uint32_t node_of(struct work *w, uint32_t scope)
{
	uint32_t stack[LIMIT_DIE_DEPTH + 1];
	size_t depth = 0;
	uint32_t at = scope;

	while (at != FACTS_NONE && w->node_of[at] == FACTS_NONE && depth < ARRAY_LEN(stack)) {
		stack[depth++] = at;
		at = w->unit->scopes[at].parent;
	}
	while (depth) {
		uint32_t s = stack[--depth];
		const struct facts_scope *sc = &w->unit->scopes[s];
		struct flat_node n = {
			.entry = sc->entry,
			.has_entry = sc->has_entry,
			.parent = sc->parent == FACTS_NONE ? FACTS_NONE : w->node_of[sc->parent],
			.name = sc->name,
			.decl_file = sc->decl_file,
			.decl_line = sc->decl_line,
			.call_file = sc->call_file,
			.call_line = sc->call_line,
			.call_spot = sc->call_spot,
		};

		w->node_of[s] = flat_add_node(w->f, &n);
		if (w->node_of[s] == FACTS_NONE)
			return FACTS_NONE;
	}
	return w->node_of[scope];
}

/* Adds a row to a piece, the one at hand when it is of that kind and ends here. */
static int add_row(struct work *w, enum flat_kind kind, uint64_t start, uint64_t end,
		   const struct flat_row *row, struct err *err)
{
	struct flat *f = w->f;
	struct flat_piece *p = f->piece_count ? &f->pieces[f->piece_count - 1] : NULL;
	struct flat_row *last;

	if (!p || p->unit != w->unit->number || p->kind != kind || p->end != start) {
		if (!grow_array((void **)&f->pieces, &f->pieces_cap, f->piece_count + 1,
				sizeof(*f->pieces), FLAT_MAX))
			return no_memory(err);
		assert(f->pieces);
		p = &f->pieces[f->piece_count++];
		*p = (struct flat_piece){.start = start,
					 .row_first = f->row_count,
					 .unit = w->unit->number,
					 .kind = kind};
	}
	p->end = end;
	last = p->row_count ? &f->rows[f->row_count - 1] : NULL;
	if (last && last->node == row->node && last->file == row->file && last->line == row->line &&
	    last->spot == row->spot)
		return 0;
	if (!grow_array((void **)&f->rows, &f->rows_cap, f->row_count + 1, sizeof(*f->rows),
			SIZE_MAX))
		return no_memory(err);
	assert(f->rows);
	f->rows[f->row_count] = *row;
	f->rows[f->row_count++].start = start;
	p->row_count++;
	return 0;
}

/* Rows for each scope that is seen, with its lines where there are some. */
static int add_functions(struct work *w, struct err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < w->scopes.count; i++) {
		const struct paint_span *s = &w->scopes.spans[i];
		struct flat_row row = {.node = node_of(w, s->value)};
		uint64_t pos = s->start;

		if (row.node == FACTS_NONE)
			return no_memory(err);
		while (pos < s->end) {
			const struct line *l;
			uint64_t end = s->end;
			int rc;

			while (at < w->line_count && w->lines[at].end <= pos)
				at++;
			l = at < w->line_count ? &w->lines[at] : NULL;
			row.file = FACTS_NONE;
			row.line = 0;
			row.spot = 0;
			if (l && l->start <= pos) {
				row.file = l->file;
				row.line = l->line;
				row.spot = l->spot;
				if (l->end < end)
					end = l->end;
			} else if (l && l->start < end) {
				end = l->start;
			}
			rc = add_row(w, FLAT_FUNCTION, pos, end, &row, err);
			if (rc)
				return rc;
			pos = end;
		}
	}
	return 0;
}

/* The part of a line that no function has, split by whether the unit claims the address. */
static int add_orphan(struct work *w, uint64_t start, uint64_t end, const struct line *l,
		      struct err *err)
{
	struct flat_row row = {
		.node = FACTS_NONE, .file = l->file, .line = l->line, .spot = l->spot};
	size_t i = paint_find(&w->covered, start);

	while (start < end) {
		const struct paint_span *c = i < w->covered.count ? &w->covered.spans[i] : NULL;
		bool inside = c && c->start <= start;
		uint64_t edge = !c ? end : inside ? c->end : c->start;
		int rc;

		if (edge > end)
			edge = end;
		rc = add_row(w, inside ? FLAT_LINES : FLAT_STRAY, start, edge, &row, err);
		if (rc)
			return rc;
		start = edge;
		i += inside;
	}
	return 0;
}

static int add_orphans(struct work *w, struct err *err)
{
	size_t first = 0; /* of the scopes: both are sorted */

	for (size_t i = 0; i < w->line_count; i++) {
		const struct line *l = &w->lines[i];
		uint64_t pos = l->start;
		size_t at;

		while (first < w->scopes.count && w->scopes.spans[first].end <= l->start)
			first++;
		at = first;

		while (pos < l->end) {
			const struct paint_span *s =
				at < w->scopes.count ? &w->scopes.spans[at] : NULL;
			uint64_t end = s && s->start < l->end ? s->start : l->end;

			if (pos < end) {
				int rc = add_orphan(w, pos, end, l, err);

				if (rc)
					return rc;
			}
			if (end == l->end)
				break;
			pos = s->end;
			at++;
		}
	}
	return 0;
}

static int add_hidden(struct work *w, struct err *err)
{
	const struct facts_unit *u = w->unit;

	for (size_t i = 0; i < u->scope_count; i++) {
		const struct facts_scope *s = &u->scopes[i];

		if (s->parent == FACTS_NONE && s->has_entry && s->name != FACTS_NONE &&
		    w->node_of[i] == FACTS_NONE && is_code(w->f, s->entry) &&
		    !aliases_add(&w->f->hidden, &(struct alias){.entry = s->entry,
								.name = s->name,
								.decl_file = s->decl_file,
								.decl_line = s->decl_line}))
			return no_memory(err);
	}
	return 0;
}

static int add_unit(struct work *w, struct err *err)
{
	const struct facts_unit *u = w->unit;
	int rc;

	w->node_of = malloc((u->scope_count + 1) * sizeof(*w->node_of));
	if (!w->node_of)
		return no_memory(err);
	for (size_t i = 0; i < u->scope_count; i++)
		w->node_of[i] = FACTS_NONE;
	for (size_t i = 0; i < u->span_count; i++)
		if (is_code(w->f, u->spans[i].start) &&
		    !paint_add(&w->scopes, u->spans[i].start, u->spans[i].end, u->spans[i].start,
			       u->spans[i].scope))
			return no_memory(err);
	for (size_t i = 0; i < u->range_count; i++)
		if (!paint_add(&w->covered, u->ranges[i].start, u->ranges[i].end, 0, 0))
			return no_memory(err);
	rc = paint_flatten(&w->scopes, err);
	if (!rc)
		rc = paint_flatten(&w->covered, err);
	if (!rc)
		rc = make_lines(w, err);
	if (!rc)
		rc = add_functions(w, err);
	if (!rc)
		rc = add_hidden(w, err);
	return rc ? rc : add_orphans(w, err);
}

int flat_add_unit(struct flat *f, const struct facts_unit *unit, struct err *err)
{
	struct work w = {
		.f = f,
		.unit = unit,
		.scopes = PAINT_INIT(SIZE_MAX),
		.covered = PAINT_INIT(SIZE_MAX),
	};
	int rc = add_unit(&w, err);

	work_done(&w);
	return rc;
}
