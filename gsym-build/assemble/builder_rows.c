/* SPDX-License-Identifier: Apache-2.0 */
#include "bisect.h"
#include "builder_priv.h"

#include <stdlib.h>

/* A row with neither file nor line. */
static const struct flat_row nowhere = {.file = DEBUG_NONE};

static bool emit_row(struct builder_rows *r, uint64_t start, uint32_t node,
		     const struct flat_row *at)
{
	const struct flat_row *last = &r->last;

	if (node == DEBUG_NONE)
		at = &nowhere;
	if (last->node == node && last->file == at->file && last->line == at->line &&
	    last->column_word == at->column_word)
		return true;
	r->last = *at;
	r->last.start = start;
	r->last.node = node;
	return r->take(r->ctx, &r->last);
}

static bool emit_symbol(struct builder_rows *r, uint64_t start, uint32_t symbol,
			const struct flat_row *at)
{
	uint32_t *node = &r->symbol_node[symbol];

	if (*node == DEBUG_NONE) {
		const struct symbol *s = &r->b->symbols.list[symbol];
		uint64_t entry;

		if (!symbols_entry(&r->b->symbols, &r->b->text, symbol, &entry))
			return false;
		*node = flat_add_node(&r->b->flat, &(struct flat_node){
							   .entry = entry,
							   .has_entry = true,
							   .from_symbol = true,
							   .parent = DEBUG_NONE,
							   .name = s->name,
							   .decl_file = DEBUG_NONE,
							   .call_file = DEBUG_NONE,
						   });
	}
	return *node != DEBUG_NONE && emit_row(r, start, *node, at);
}

/* Emits a line with neither function nor symbol. It is an answer only where the unit claims the
 * address. */
static bool emit_bare(struct builder_rows *r, uint64_t start, const struct flat_row *at,
		      bool claimed)
{
	if (!claimed)
		return emit_row(r, start, DEBUG_NONE, at);
	if (r->nameless == DEBUG_NONE) {
		r->nameless = flat_add_node(&r->b->flat, &(struct flat_node){
								 .parent = DEBUG_NONE,
								 .name = DEBUG_NONE,
								 .decl_file = DEBUG_NONE,
								 .call_file = DEBUG_NONE,
							 });
		if (r->nameless == DEBUG_NONE)
			return false;
	}
	return emit_row(r, start, r->nameless, at);
}

/* Emits [start, end), which has no function in DWARF, with the names of symbols. */
static bool emit_plain(struct builder_rows *r, uint64_t start, uint64_t end,
		       const struct flat_row *at, bool claimed)
{
	const struct interval_overlay *symbols = &r->b->symbols.spans;

	for (size_t i = interval_overlay_find(symbols, start); start < end; i++) {
		const struct interval_span *s = i < symbols->count ? &symbols->spans[i] : NULL;

		if (!s || s->start >= end)
			return emit_bare(r, start, at, claimed);
		if (s->start > start) {
			if (!emit_bare(r, start, at, claimed))
				return false;
			start = s->start;
		}
		if (!emit_symbol(r, start, s->value, at))
			return false;
		start = s->end;
	}
	return true;
}

/* Emits the rows of a piece that lie in [start, end). */
static bool emit_piece(struct builder_rows *r, const struct flat_piece *p, uint64_t start,
		       uint64_t end)
{
	/* flat_add_node() may move the nodes but never the rows. */
	const struct flat_row *rows = r->b->flat.rows + p->row_first;
	/* Most pieces are visible from their start, which needs no search. */
	size_t above = start == p->start ? 1 : BISECT(p->row_count, row, rows[row].start <= start);

	for (size_t i = above - 1; i < p->row_count && rows[i].start < end; i++) {
		uint64_t from = rows[i].start > start ? rows[i].start : start;
		uint64_t to =
			i + 1 < p->row_count && rows[i + 1].start < end ? rows[i + 1].start : end;
		bool ok = p->kind == FLAT_FUNCTION
				  ? emit_row(r, from, rows[i].node, &rows[i])
				  : emit_plain(r, from, to, &rows[i], p->kind == FLAT_LINES);

		if (!ok)
			return false;
	}
	return true;
}

/* Finds the visible parts of all pieces: the higher kind wins, then the lowest unit. The value of a
 * span is its piece. */
static int choose_row_pieces(const struct flat *f, struct interval_overlay *ret, struct err *err)
{
	for (size_t i = 0; i < f->piece_count; i++) {
		const struct flat_piece *piece = &f->pieces[i];

		if (!interval_overlay_add(ret, piece->start, piece->end,
					  ((uint64_t)piece->kind << 32) |
						  (UINT32_MAX - piece->unit),
					  (uint32_t)i))
			return err_no_memory(err);
	}
	return interval_overlay_flatten(ret, err);
}

int builder_rows_init(struct builder_rows *r, struct builder *b, struct err *err)
{
	size_t count = b->symbols.count;

	*r = (struct builder_rows){
		.b = b,
		.seen = INTERVAL_OVERLAY_INIT(SIZE_MAX),
		.symbol_node = malloc((count + 1) * sizeof(*r->symbol_node)),
		.nameless = DEBUG_NONE,
	};
	if (!r->symbol_node)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++)
		r->symbol_node[i] = DEBUG_NONE;
	return choose_row_pieces(&b->flat, &r->seen, err);
}

void builder_rows_done(struct builder_rows *r)
{
	free(r->symbol_node);
	interval_overlay_done(&r->seen);
}

int builder_rows_each(struct builder_rows *r, bool (*take)(void *ctx, const struct flat_row *row),
		      void *ctx, struct err *err)
{
	uint64_t at = 0;

	r->take = take;
	r->ctx = ctx;
	r->last = (struct flat_row){.node = DEBUG_NONE, .file = DEBUG_NONE};
	for (size_t i = 0; i < r->seen.count; i++) {
		const struct interval_span *s = &r->seen.spans[i];

		if (!emit_plain(r, at, s->start, &nowhere, false) ||
		    !emit_piece(r, &r->b->flat.pieces[s->value], s->start, s->end))
			return err_no_memory(err);
		at = s->end;
	}
	return emit_plain(r, at, UINT64_MAX, &nowhere, false) ? 0 : err_no_memory(err);
}
