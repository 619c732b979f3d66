/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps everything that a file describes, unchanged. */
#include "verify_source.h"
#include "limits.h"
#include "plain_reader.h"
#include "sort.h"

void verify_source_init(struct verify_source *f)
{
	*f = (struct verify_source){.symbols = SYMBOLS_INIT,
				    .code = INTERVAL_OVERLAY_INIT(SIZE_MAX)};
	debug_text_init(&f->text);
	f->typed = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN);
}

static void spans_done(struct verify_spans *s)
{
	free(s->list);
	free(s->active);
}

void verify_source_done(struct verify_source *f)
{
	debug_text_done(&f->text);
	intern_done(&f->typed);
	free(f->types);
	free(f->scopes);
	free(f->rows);
	free(f->sequences);
	free(f->edges);
	spans_done(&f->functions);
	spans_done(&f->lines);
	spans_done(&f->covered);
	spans_done(&f->sized);
	symbols_done(&f->symbols);
	interval_overlay_done(&f->code);
}

static bool add_edge(struct verify_source *f, uint64_t vaddr)
{
	if (!GROW(f->edges, &f->edges_cap, f->edge_count + 1, SIZE_MAX))
		return false;
	f->edges[f->edge_count++] = vaddr;
	return true;
}

static bool add_source_span(struct verify_source *f, struct verify_spans *s,
			    const struct verify_span *span)
{
	if (!GROW(s->list, &s->cap, s->count + 1, UINT32_MAX))
		return false;
	s->list[s->count++] = *span;
	return add_edge(f, span->start) && add_edge(f, span->end);
}

/* Debug information of code that the linker dropped has addresses outside all sections. */
uint64_t verify_code_end(const struct verify_source *f, uint64_t vaddr)
{
	const struct interval_span *holds = NULL;
	uint64_t end;

	if (!f->code.count)
		return vaddr && vaddr < UINT64_MAX - 1 &&
				       (vaddr < UINT32_MAX - 1 || vaddr > UINT32_MAX)
			       ? UINT64_MAX
			       : 0;
	for (size_t i = 0; i < f->code.count; i++) {
		const struct interval_span *s = &f->code.spans[i];

		if (s->start <= vaddr && vaddr < s->end && (!holds || s->rank > holds->rank))
			holds = s;
	}
	if (!holds)
		return 0;
	/* Sections overlap only in damaged files; an address then belongs to the later section. */
	end = holds->end;
	for (size_t i = 0; i < f->code.count; i++) {
		const struct interval_span *s = &f->code.spans[i];

		if (s->rank > holds->rank && s->start > vaddr && s->start < end &&
		    s->end > s->start)
			end = s->start;
	}
	return end;
}

static bool add_source_sequence(struct verify_source *f, const struct debug_row *rows, size_t count)
{
	struct verify_sequence s = {.first = f->row_count, .distance = UINT32_MAX};

	if (!verify_code_end(f, rows[0].vaddr))
		return true;
	for (size_t i = 0; i < count; i++) {
		if (s.count && rows[i].vaddr < f->rows[f->row_count - 1].vaddr)
			continue;
		if (!GROW(f->rows, &f->rows_cap, f->row_count + 1, SIZE_MAX) ||
		    !add_edge(f, rows[i].vaddr))
			return false;
		f->rows[f->row_count++] = rows[i];
		s.count++;
	}
	s.high = f->rows[f->row_count - 1].vaddr;
	if (s.high == rows[0].vaddr)
		return true;
	if (!GROW(f->sequences, &f->sequences_cap, f->sequence_count + 1, UINT32_MAX))
		return false;
	f->sequences[f->sequence_count] = s;
	return add_source_span(f, &f->lines,
			       &(struct verify_span){.start = rows[0].vaddr,
						     .end = s.high,
						     .unit = f->unit_count,
						     .index = (uint32_t)f->sequence_count++});
}

static bool add_source_types(struct verify_source *f, const struct debug_unit *u)
{
	for (size_t i = 0; u->types && i < u->scope_count; i++) {
		const struct debug_scope *s = &u->scopes[i];
		struct verify_typed key = {s->name, s->decl_file, s->decl_line};
		bool is_new;
		uint32_t id;

		if (u->types[i] == DEBUG_NONE || s->name == DEBUG_NONE)
			continue;
		id = intern_add(&f->typed, &key, sizeof(key), &is_new);
		if (id == INTERN_FULL || !GROW(f->types, &f->types_cap, (size_t)id + 1, SIZE_MAX))
			return false;
		if (is_new)
			f->types[id] = u->types[i];
	}
	return true;
}

uint32_t verify_type(const struct verify_source *f, struct verify_typed function)
{
	uint32_t id = intern_find(&f->typed, &function, sizeof(function));

	return id == INTERN_FULL ? DEBUG_NONE : f->types[id];
}

static bool add_source_unit(struct verify_source *f, const struct debug_unit *u)
{
	uint32_t base = (uint32_t)f->scope_count;
	size_t first = 0;
	bool ok = GROW(f->scopes, &f->scopes_cap, f->scope_count + u->scope_count, UINT32_MAX) &&
		  add_source_types(f, u);

	for (size_t i = 0; i < u->scope_count && ok; i++) {
		f->scopes[base + i] = u->scopes[i];
		if (u->scopes[i].parent != DEBUG_NONE)
			f->scopes[base + i].parent += base;
		f->scope_count++;
	}
	for (size_t i = 0; i < u->span_count && ok; i++)
		if (verify_code_end(f, u->spans[i].start))
			ok = add_source_span(
				f, &f->functions,
				&(struct verify_span){.start = u->spans[i].start,
						      .end = u->spans[i].end,
						      .unit = f->unit_count,
						      .index = base + u->spans[i].scope});
	for (size_t i = 0; i < u->range_count && ok; i++)
		ok = add_source_span(f, &f->covered,
				     &(struct verify_span){.start = u->ranges[i].start,
							   .end = u->ranges[i].end,
							   .unit = f->unit_count});
	for (size_t i = 0; i < u->row_count && ok; i++) {
		if (!u->rows[i].end)
			continue;
		ok = add_source_sequence(f, u->rows + first, i + 1 - first);
		first = i + 1;
	}
	f->unit_count++;
	return ok;
}

static int take_unit(void *ctx, const struct debug_unit *u, struct err *err)
{
	return add_source_unit(ctx, u) ? 0 : err_no_memory(err);
}

static int add_source_symbols(struct verify_source *f, struct err *err)
{
	struct symbols *s = &f->symbols;

	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), compare_u64);
	for (size_t i = 0; i < s->count; i++) {
		const struct symbol *sym = &s->list[i];
		uint64_t end = verify_code_end(f, sym->vaddr);
		bool ok = add_edge(f, sym->vaddr);

		if (end && !f->code.count && !sym->len)
			end = sym->vaddr + 1;
		if (end && ok)
			ok = add_edge(f, end);
		if (end && sym->len && sym->len < end - sym->vaddr)
			end = sym->vaddr + sym->len;
		if (end && sym->len && ok)
			ok = add_source_span(f, &f->sized,
					     &(struct verify_span){.start = sym->vaddr,
								   .end = end,
								   .index = (uint32_t)i});
		if (!ok)
			return err_no_memory(err);
	}
	return 0;
}

static void sort_source_spans(struct verify_spans *s)
{
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), compare_u64);
}

static void sort_all(struct verify_source *f)
{
	size_t kept = 0;

	sort_source_spans(&f->functions);
	sort_source_spans(&f->lines);
	sort_source_spans(&f->covered);
	sort_source_spans(&f->sized);
	if (f->edge_count)
		qsort(f->edges, f->edge_count, sizeof(*f->edges), compare_u64);
	for (size_t i = 0; i < f->edge_count; i++)
		if (!kept || f->edges[i] != f->edges[kept - 1])
			f->edges[kept++] = f->edges[i];
	f->edge_count = kept;
}

int verify_source_read(struct verify_source *f, struct image *im, struct image *executable,
		       const struct die_companions *companions, struct debug_report *debug,
		       struct err *err)
{
	struct debug_sink sink = {.ctx = f, .unit = take_unit};
	uint64_t count = 0, mini = 0;

	TRY(image_add_code(im, &f->code, err));
	TRY(image_add_symbols(im, &f->text, &f->symbols, &count, err));
	TRY(image_add_mini_symbols(im, &f->text, &f->symbols, &mini, err));
	if (!(count + mini) && executable)
		TRY(image_add_symbols(executable, &f->text, &f->symbols, &count, err));
	TRY(image_add_plt_symbols(image_is_debug_only(im) && executable ? executable : im, &f->text,
				  &f->symbols, &count, err));
	TRY(plain_read_with(im, companions, &f->text, &sink, debug, err));
	f->units_skipped = debug->units_skipped;
	f->lines_refused = debug->lines_refused;
	TRY(add_source_symbols(f, err));
	sort_all(f);
	return 0;
}

static void rewind_spans(struct verify_spans *s)
{
	s->active_count = s->next = 0;
}

void verify_source_rewind(struct verify_source *f)
{
	rewind_spans(&f->functions);
	rewind_spans(&f->lines);
	rewind_spans(&f->covered);
	rewind_spans(&f->sized);
}
