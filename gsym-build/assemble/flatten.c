/* SPDX-License-Identifier: Apache-2.0 */
#include "flatten.h"

#include <assert.h>
#include <string.h>

#include "limits.h"
#include "unit_lines.h"

#define FLAT_MAX ((size_t)UINT32_MAX - 1)

/* Working state for one unit. */
struct work {
	struct flat *f;
	const struct debug_unit *unit;
	uint32_t *node_of; /* by scope */
	struct unit_lines lines;
	struct interval_overlay scopes;  /* value: scope */
	struct interval_overlay covered; /* addresses that the unit claims */
};

static void work_done(struct work *w)
{
	free(w->node_of);
	unit_lines_done(&w->lines);
	interval_overlay_done(&w->scopes);
	interval_overlay_done(&w->covered);
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
	function_aliases_done(&f->hidden);
	interval_overlay_done(&f->code);
	*f = (struct flat){.code = INTERVAL_OVERLAY_INIT(SIZE_MAX)};
}

uint32_t flat_add_node(struct flat *f, const struct flat_node *node)
{
	if (!GROW(f->nodes, &f->nodes_cap, f->node_count + 1, FLAT_MAX))
		return DEBUG_NONE;
	f->nodes[f->node_count] = *node;
	return (uint32_t)f->node_count++;
}

/* Returns the node of a scope; the first call makes it and all its parents. */
static uint32_t node_of_scope(struct work *w, uint32_t scope)
{
	uint32_t stack[LIMIT_DIE_DEPTH + 1];
	size_t depth = 0;
	uint32_t at = scope;

	while (at != DEBUG_NONE && w->node_of[at] == DEBUG_NONE && depth < ARRAY_LEN(stack)) {
		stack[depth++] = at;
		at = w->unit->scopes[at].parent;
	}
	while (depth) {
		uint32_t s = stack[--depth];
		const struct debug_scope *sc = &w->unit->scopes[s];
		struct flat_node n = {
			.entry = sc->entry,
			.has_entry = sc->has_entry,
			.parent = sc->parent == DEBUG_NONE ? DEBUG_NONE : w->node_of[sc->parent],
			.name = sc->name,
			.decl_file = sc->decl_file,
			.decl_line = sc->decl_line,
			.call_file = sc->call_file,
			.call_line = sc->call_line,
			.call_column_word = sc->call_column_word,
		};

		w->node_of[s] = flat_add_node(w->f, &n);
		if (w->node_of[s] == DEBUG_NONE)
			return DEBUG_NONE;
	}
	return w->node_of[scope];
}

/* Adds a row to the current piece if that is of this kind and ends at `start`, else to a new
 * piece. */
static int add_flat_row(struct work *w, enum flat_kind kind, uint64_t start, uint64_t end,
			const struct flat_row *row, struct err *err)
{
	struct flat *f = w->f;
	struct flat_piece *p = f->piece_count ? &f->pieces[f->piece_count - 1] : NULL;
	struct flat_row *last;

	if (!p || p->unit != w->unit->number || p->kind != kind || p->end != start) {
		if (!GROW(f->pieces, &f->pieces_cap, f->piece_count + 1, FLAT_MAX))
			return err_no_memory(err);
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
	    last->column_word == row->column_word)
		return 0;
	if (!GROW(f->rows, &f->rows_cap, f->row_count + 1, SIZE_MAX))
		return err_no_memory(err);
	assert(f->rows);
	f->rows[f->row_count] = *row;
	f->rows[f->row_count++].start = start;
	p->row_count++;
	return 0;
}

/* Adds the rows of each visible scope, with its lines where there are any. */
static int add_functions(struct work *w, struct err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < w->scopes.count; i++) {
		const struct interval_span *s = &w->scopes.spans[i];
		struct flat_row row = {.node = node_of_scope(w, s->value)};
		uint64_t pos = s->start;

		if (row.node == DEBUG_NONE)
			return err_no_memory(err);
		while (pos < s->end) {
			const struct unit_line *l;
			uint64_t end = s->end;

			while (at < w->lines.count && w->lines.all[at].end <= pos)
				at++;
			l = at < w->lines.count ? &w->lines.all[at] : NULL;
			row.file = DEBUG_NONE;
			row.line = 0;
			row.column_word = 0;
			if (l && l->start <= pos) {
				row.file = l->file;
				row.line = l->line;
				row.column_word = l->column_word;
				if (l->end < end)
					end = l->end;
			} else if (l && l->start < end) {
				end = l->start;
			}
			TRY(add_flat_row(w, FLAT_FUNCTION, pos, end, &row, err));
			pos = end;
		}
	}
	return 0;
}

/* Adds a part of a line that has no function, split where the unit begins or ceases to claim the
 * address. */
static int add_orphan(struct work *w, uint64_t start, uint64_t end, const struct unit_line *l,
		      struct err *err)
{
	struct flat_row row = {.node = DEBUG_NONE,
			       .file = l->file,
			       .line = l->line,
			       .column_word = l->column_word};
	size_t i = interval_overlay_find(&w->covered, start);

	while (start < end) {
		const struct interval_span *c = i < w->covered.count ? &w->covered.spans[i] : NULL;
		bool inside = c && c->start <= start;
		uint64_t edge = !c ? end : inside ? c->end : c->start;

		if (edge > end)
			edge = end;
		TRY(add_flat_row(w, inside ? FLAT_LINES : FLAT_STRAY, start, edge, &row, err));
		start = edge;
		i += inside;
	}
	return 0;
}

static int add_orphans(struct work *w, struct err *err)
{
	size_t first = 0; /* the first scope that may overlap; scopes and lines are sorted */

	for (size_t i = 0; i < w->lines.count; i++) {
		const struct unit_line *l = &w->lines.all[i];
		uint64_t pos = l->start;
		size_t at;

		while (first < w->scopes.count && w->scopes.spans[first].end <= l->start)
			first++;
		at = first;

		while (pos < l->end) {
			const struct interval_span *s =
				at < w->scopes.count ? &w->scopes.spans[at] : NULL;
			uint64_t end = s && s->start < l->end ? s->start : l->end;

			if (pos < end)
				TRY(add_orphan(w, pos, end, l, err));
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
	const struct debug_unit *u = w->unit;

	for (size_t i = 0; i < u->scope_count; i++) {
		const struct debug_scope *s = &u->scopes[i];

		if (s->parent == DEBUG_NONE && s->has_entry && s->name != DEBUG_NONE &&
		    w->node_of[i] == DEBUG_NONE && is_code(&w->f->code, s->entry) &&
		    !function_aliases_add(&w->f->hidden,
					  &(struct function_alias){.entry = s->entry,
								   .name = s->name,
								   .decl_file = s->decl_file,
								   .decl_line = s->decl_line}))
			return err_no_memory(err);
	}
	return 0;
}

static int flatten_unit(struct work *w, struct err *err)
{
	const struct debug_unit *u = w->unit;

	w->node_of = malloc((u->scope_count + 1) * sizeof(*w->node_of));
	if (!w->node_of)
		return err_no_memory(err);
	for (size_t i = 0; i < u->scope_count; i++)
		w->node_of[i] = DEBUG_NONE;
	for (size_t i = 0; i < u->span_count; i++)
		if (is_code(&w->f->code, u->spans[i].start) &&
		    !interval_overlay_add(&w->scopes, u->spans[i].start, u->spans[i].end,
					  u->spans[i].start, u->spans[i].scope))
			return err_no_memory(err);
	for (size_t i = 0; i < u->range_count; i++)
		if (!interval_overlay_add(&w->covered, u->ranges[i].start, u->ranges[i].end, 0, 0))
			return err_no_memory(err);
	TRY(interval_overlay_flatten(&w->scopes, err));
	TRY(interval_overlay_flatten(&w->covered, err));
	TRY(unit_lines_make(&w->lines, u, &w->f->code, &w->scopes, err));
	TRY(add_functions(w, err));
	TRY(add_hidden(w, err));
	return add_orphans(w, err);
}

int flat_add_unit(struct flat *f, const struct debug_unit *unit, struct err *err)
{
	struct work w = {
		.f = f,
		.unit = unit,
		.scopes = INTERVAL_OVERLAY_INIT(SIZE_MAX),
		.covered = INTERVAL_OVERLAY_INIT(SIZE_MAX),
	};
	int rc = flatten_unit(&w, err);

	work_done(&w);
	return rc;
}
