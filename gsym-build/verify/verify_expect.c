/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the expected answer at an address from everything that covers it (FORMAT.md, "Which
 * answer"):
 *
 *	1. the innermost DIE at the address in the lowest unit that has a function there, with the
 *	   inlined calls and the function around it; the line is that unit's;
 *	2. else the line of the lowest unit that claims the address, with the symbol's name if there
 *	   is one;
 *	3. else a symbol, with the line of a unit that does not claim the address if there is one.
 */
#include "verify_source.h"

#include "bisect.h"

/* Makes the spans that cover vaddr, and no others, the active ones. Returns false if memory is
 * out. */
static bool activate_spans(struct verify_spans *s, uint64_t vaddr)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->active_count; i++)
		if (s->list[s->active[i]].end > vaddr)
			s->active[kept++] = s->active[i];
	s->active_count = kept;
	for (; s->next < s->count && s->list[s->next].start <= vaddr; s->next++) {
		if (s->list[s->next].end <= vaddr)
			continue;
		if (!GROW(s->active, &s->active_cap, s->active_count + 1, SIZE_MAX))
			return false;
		s->active[s->active_count++] = (uint32_t)s->next;
	}
	return true;
}

static const struct verify_span *active_at(const struct verify_spans *s, size_t i)
{
	return &s->list[s->active[i]];
}

/* Returns whether a is preferred to b: the span of the lower unit; within a unit the one that
 * starts last, then the shorter, then the last. */
static bool is_inner(const struct verify_span *a, const struct verify_span *b)
{
	if (a->unit != b->unit)
		return a->unit < b->unit;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->end != b->end)
		return a->end < b->end;
	return a->index > b->index;
}

static const struct verify_span *function_at(const struct verify_source *f)
{
	const struct verify_span *best = NULL;

	for (size_t i = 0; i < f->functions.active_count; i++) {
		const struct verify_span *s = active_at(&f->functions, i);

		if (!best || is_inner(s, best))
			best = s;
	}
	return best;
}

static bool unit_claims(const struct verify_source *f, uint32_t unit)
{
	for (size_t i = 0; i < f->covered.active_count; i++)
		if (active_at(&f->covered, i)->unit == unit)
			return true;
	return false;
}

/* Returns the innermost span of one unit, or NULL. */
static const struct verify_span *function_of_unit(const struct verify_source *f, uint32_t unit)
{
	const struct verify_span *best = NULL;

	for (size_t i = 0; i < f->functions.active_count; i++) {
		const struct verify_span *s = active_at(&f->functions, i);

		if (s->unit == unit && (!best || is_inner(s, best)))
			best = s;
	}
	return best;
}

/* Returns the smallest distance of a sequence's rows from the declaration of a function in the same
 * file, or UINT32_MAX. */
static uint32_t row_distance(const struct verify_source *f, const struct verify_sequence *s,
			     const struct debug_scope *function)
{
	uint32_t best = UINT32_MAX;

	for (size_t i = s->first; i + 1 < s->first + s->count; i++) {
		const struct debug_row *r = &f->rows[i];

		/* The last of several rows at one address counts. */
		if (r[1].vaddr == r->vaddr && !r[1].end)
			continue;
		if (r->file == function->decl_file && r->line >= function->decl_line &&
		    r->line - function->decl_line < best)
			best = r->line - function->decl_line;
	}
	return best;
}

/* Sets the distances of the sequences that begin at vaddr. Sequences of folded functions begin
 * together. */
static void note_distances(struct verify_source *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->lines.active_count; i++) {
		const struct verify_span *s = active_at(&f->lines, i), *function;
		const struct debug_scope *scope;

		if (s->start != vaddr)
			continue;
		function = function_of_unit(f, s->unit);
		if (!function)
			continue;
		scope = &f->scopes[function->index];
		while (scope->parent != DEBUG_NONE)
			scope = &f->scopes[scope->parent];
		if (scope->decl_file != DEBUG_NONE)
			f->sequences[s->index].distance =
				row_distance(f, &f->sequences[s->index], scope);
	}
}

static bool span_comes_first(const struct verify_source *f, const struct verify_span *a,
			     const struct verify_span *b)
{
	uint32_t da = f->sequences[a->index].distance, db = f->sequences[b->index].distance;

	if (a->end != b->end)
		return a->end < b->end;
	if (a->start != b->start)
		return a->start < b->start;
	return da != db ? da < db : a->index < b->index;
}

/* Returns the active sequence of a unit, or NULL: the one that ends first, then the one that starts
 * first, then the one nearest to the declaration of the function there. */
static const struct verify_span *sequence_of(const struct verify_source *f, uint32_t unit)
{
	const struct verify_span *best = NULL;

	for (size_t i = 0; i < f->lines.active_count; i++) {
		const struct verify_span *s = active_at(&f->lines, i);

		if (s->unit == unit && (!best || span_comes_first(f, s, best)))
			best = s;
	}
	return best;
}

/* Finds the unit that gives the line where no unit has a function: units that claim the address are
 * preferred, then the lowest. Returns false if no unit has a line. */
static bool line_unit(const struct verify_source *f, uint32_t *ret_unit, bool *ret_claimed)
{
	bool found = false;

	*ret_claimed = false;
	for (size_t i = 0; i < f->lines.active_count; i++) {
		uint32_t unit = active_at(&f->lines, i)->unit;
		bool claimed = unit_claims(f, unit);

		if (found &&
		    (claimed < *ret_claimed || (claimed == *ret_claimed && unit >= *ret_unit)))
			continue;
		found = true;
		*ret_unit = unit;
		*ret_claimed = claimed;
	}
	return found;
}

/* Sets the line from the last row at or before vaddr. */
static void line_at(const struct verify_source *f, uint32_t unit, uint64_t vaddr,
		    struct verify_frame *ret)
{
	const struct verify_span *span = sequence_of(f, unit);
	const struct verify_sequence *s;
	const struct debug_row *row;
	size_t later;

	ret->file = DEBUG_NONE;
	ret->line = ret->column_word = 0;
	if (!span)
		return;
	s = &f->sequences[span->index];
	/* The first row of an active sequence is at or before vaddr. */
	later = BISECT(s->count, i, f->rows[s->first + i].vaddr <= vaddr);
	row = &f->rows[s->first + later - 1];
	ret->file = row->file;
	ret->line = row->line;
	ret->column_word = row->column_word;
}

/* Returns whether a is preferred to b, a symbol at the same address. Ids of names are in the order
 * of the symbol table. */
static bool symbol_is_better(const struct symbol *a, const struct symbol *b)
{
	if (a->default_version != b->default_version)
		return a->default_version;
	if (a->is_function != b->is_function)
		return a->is_function;
	if (a->binding != b->binding)
		return a->binding > b->binding;
	if (a->name_len != b->name_len)
		return a->name_len < b->name_len;
	if (a->name != b->name)
		return a->name < b->name;
	return a->len > b->len;
}

/* Returns the symbol with a size that covers vaddr and starts last; else one without a size at the
 * last address up to vaddr that has a symbol; else NULL. */
static const struct symbol *symbol_at(const struct verify_source *f, uint64_t vaddr)
{
	const struct symbol *list = f->symbols.list, *best = NULL;
	size_t later;

	for (size_t i = 0; i < f->sized.active_count; i++) {
		const struct symbol *s = &list[active_at(&f->sized, i)->index];

		if (!best || s->vaddr > best->vaddr ||
		    (s->vaddr == best->vaddr && symbol_is_better(s, best)))
			best = s;
	}
	if (best)
		return best;
	later = BISECT(f->symbols.count, i, list[i].vaddr <= vaddr);
	for (size_t i = later; i-- > 0 && list[i].vaddr == list[later - 1].vaddr;)
		if (!list[i].len && (!best || symbol_is_better(&list[i], best)))
			best = &list[i];
	return best;
}

/* Returns whether a symbol reaches vaddr. One without a size reaches to the end of its section, or
 * covers only its first byte if there are no sections. */
static bool symbol_reaches(const struct verify_source *f, const struct symbol *s, uint64_t vaddr)
{
	return s->len || vaddr < (f->code.count ? verify_code_end(f, s->vaddr) : s->vaddr + 1);
}

static int chain_frames(const struct verify_source *f, const struct verify_span *span,
			uint64_t vaddr, struct verify_frame *frames, size_t cap)
{
	struct verify_frame at = {0};
	uint32_t scope = span->index;
	int count = 0;

	line_at(f, span->unit, vaddr, &at);
	for (; scope != DEBUG_NONE && (size_t)count < cap; scope = at.scope->parent) {
		at.scope = &f->scopes[scope];
		at.name = at.scope->name;
		frames[count++] = at;
		at.file = at.scope->call_file;
		at.line = at.scope->call_line;
		at.column_word = at.scope->call_column_word;
	}
	return count;
}

int verify_expect(struct verify_source *f, uint64_t vaddr, struct verify_frame *frames, size_t cap)
{
	const struct verify_span *function;
	const struct symbol *symbol;
	uint32_t unit = 0;
	bool claimed, has_line;

	if (!activate_spans(&f->functions, vaddr) || !activate_spans(&f->lines, vaddr) ||
	    !activate_spans(&f->covered, vaddr) || !activate_spans(&f->sized, vaddr))
		return ERR_MEMORY;
	note_distances(f, vaddr);
	function = function_at(f);
	if (function)
		return chain_frames(f, function, vaddr, frames, cap);
	has_line = line_unit(f, &unit, &claimed);
	symbol = symbol_at(f, vaddr);
	if (symbol && !symbol_reaches(f, symbol, vaddr))
		symbol = NULL;
	if (!symbol && !(has_line && claimed))
		return 0;
	frames[0] = (struct verify_frame){
		.symbol = symbol,
		.name = symbol ? symbol->name : DEBUG_NONE,
		.file = DEBUG_NONE,
	};
	if (has_line)
		line_at(f, unit, vaddr, &frames[0]);
	return 1;
}
