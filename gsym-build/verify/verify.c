/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <string.h>

#include "limits.h"
#include "verify_run.h"

enum {
	TEXTS_MAX = 32 << 20 /* size of each cache, so that a name or path is unpacked once */
};

static uint32_t *new_unseen_array(size_t count)
{
	uint32_t *p = malloc((count + 1) * sizeof(*p));

	for (size_t i = 0; p && i < count; i++)
		p[i] = DEBUG_NONE;
	return p;
}

/* One frame as numbers that can be compared. has_entry and entry are set for the outermost frame
 * only, the function that holds the inlined calls. */
struct frame {
	uint32_t name, path, line, decl_path, decl_line, column_word, type;
	bool has_entry, from_symbol;
	uint64_t entry;
};

/* Returns the entry of a symbol's function. "f.cold" and "f.cold.N" are parts of f, if all symbols
 * f have the same address. */
static uint64_t symbol_entry(struct verify *v, const struct symbol *s)
{
	const struct symbols *all = &v->source.symbols;
	const struct symbol *home = NULL;
	const char *name = intern_get(&v->source.text.strings, s->name, NULL), *cold = NULL;
	uint32_t base;

	if (s == v->last_cold)
		return v->last_cold_entry;
	for (size_t i = 1; i + 5 <= s->name_len; i++)
		if (memcmp(name + i, ".cold", 5) == 0)
			cold = name + i;
	if (!cold)
		return s->vaddr;
	if (cold + 5 < name + s->name_len) {
		const char *digit = cold + 6;

		if (cold[5] != '.')
			return s->vaddr;
		while (digit < name + s->name_len && *digit >= '0' && *digit <= '9')
			digit++;
		if (digit == cold + 6 || digit < name + s->name_len)
			return s->vaddr;
	}
	v->last_cold = s;
	v->last_cold_entry = s->vaddr;
	base = intern_find(&v->source.text.strings, name, (size_t)(cold - name));
	for (size_t i = 0; i < all->count && base != INTERN_FULL; i++) {
		if (all->list[i].name != base)
			continue;
		if (home && home->vaddr != all->list[i].vaddr)
			return s->vaddr;
		home = &all->list[i];
	}
	if (home)
		v->last_cold_entry = home->vaddr;
	return v->last_cold_entry;
}

static int fill_expected_frame(struct verify_run *run, const struct verify_frame *e,
			       struct frame *ret, struct err *err)
{
	int rc;

	*ret = (struct frame){
		.name = e->name == DEBUG_NONE ? run->verify->empty : e->name,
		.line = e->line,
		.decl_path = DEBUG_NONE,
		.from_symbol = e->symbol != NULL,
		.column_word = run->has_columns ? e->column_word : 0,
		.type = DEBUG_NONE,
	};
	if (run->function_type && e->name != DEBUG_NONE)
		ret->type = verify_type(&run->verify->source,
					(struct verify_typed){
						.name = e->name,
						.file = e->scope ? e->scope->decl_file : DEBUG_NONE,
						.line = e->scope ? e->scope->decl_line : 0,
					});
	rc = verify_source_path(run->verify, e->file, &ret->path, err);
	if (!rc && e->scope) {
		ret->decl_line = e->scope->decl_line;
		rc = verify_source_path(run->verify, e->scope->decl_file, &ret->decl_path, err);
	}
	if (e->scope && e->scope->parent == DEBUG_NONE) {
		ret->has_entry = e->scope->has_entry && e->scope->entry >= run->verify->bias;
		ret->entry = ret->has_entry ? e->scope->entry : 0;
	} else if (e->symbol) {
		ret->has_entry = true;
		ret->entry = symbol_entry(run->verify, e->symbol);
	}
	return rc;
}

static int fill_found_frame(struct verify_run *run, const struct rsym_frame *r, bool outermost,
			    struct frame *ret, struct err *err)
{
	struct rsym_function f;
	int rc = rsym_function(run->t, r->function, &f, err);

	*ret = (struct frame){.line = r->line};
	if (rc)
		return rc;
	TRY(verify_name(run, r->function, &ret->name, err));
	TRY(verify_path(run, r->file, &ret->path, err));
	TRY(verify_path(run, f.file, &ret->decl_path, err));
	TRY(verify_signature(run, r->function, &ret->type, err));
	ret->decl_line = f.start_line;
	ret->from_symbol = f.from_symbol;
	if (outermost && f.has_entry) {
		ret->has_entry = true;
		ret->entry = f.vaddr + run->verify->bias;
	}
	return 0;
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->name == b->name && a->path == b->path && a->line == b->line &&
	       a->decl_path == b->decl_path && a->decl_line == b->decl_line &&
	       a->has_entry == b->has_entry && a->from_symbol == b->from_symbol &&
	       a->entry == b->entry && a->column_word == b->column_word && a->type == b->type;
}

static void put_chain(struct verify_run *run, const char *who, const struct frame *frames,
		      int count)
{
	buf_printf(run->out, "  %s:", who);
	if (!count)
		buf_str(run->out, " nothing");
	for (int i = 0; i < count; i++) {
		const struct frame *f = &frames[i];

		buf_str(run->out, i ? " < " : " ");
		verify_put_text(run, f->name);
		buf_str(run->out, " ");
		verify_put_text(run, f->path);
		buf_printf(run->out, ":%u", f->line);
		if (run->has_columns)
			buf_printf(run->out, ":%u.%u", f->column_word & UINT16_MAX,
				   f->column_word >> 16);
		buf_str(run->out, " (of ");
		verify_put_text(run, f->decl_path);
		buf_printf(run->out, ":%u", f->decl_line);
		if (f->has_entry)
			buf_printf(run->out, ", at 0x%llx",
				   (unsigned long long)(f->entry - run->verify->bias));
		if (run->function_type) {
			buf_str(run->out, ", type ");
			verify_put_text(run, f->type);
		}
		buf_str(run->out, f->from_symbol ? ", a symbol)" : ")");
	}
	buf_str(run->out, "\n");
}

/* Notes, for the comparison of aliases, which function is the answer at `start`. `begins` says
 * whether a range begins there. Returns false if memory is out. */
static bool note_function(struct verify_run *run, const struct verify_frame *outer, uint64_t start,
			  bool begins)
{
	const struct verify_source *f = &run->verify->source;
	const struct debug_scope *s = outer->scope;
	struct verify_entered is = {.entry = start, .name = outer->name};

	/* A chain longer than the limit ends before its function. */
	while (s && s->parent != DEBUG_NONE)
		s = &f->scopes[s->parent];
	if (s)
		run->seen[s - f->scopes] = 1;
	is.from_symbol = !s;
	if (s)
		is.name = s->name;
	if (!begins || is.name == DEBUG_NONE ||
	    (s ? !s->has_entry || s->entry != start
	       : !outer->symbol || symbol_entry(run->verify, outer->symbol) != start))
		return true;
	if (!GROW(run->entered, &run->entered_cap, run->entered_count + 1, SIZE_MAX))
		return false;
	run->entered[run->entered_count++] = is;
	return true;
}

/* Compares the answers in [start, end), in which neither that of the file nor that of the table
 * changes. */
static int compare_range(struct verify_run *run, uint64_t start, uint64_t end, bool begins,
			 struct err *err)
{
	struct verify_frame want[RSYM_FRAMES_MAX];
	struct rsym_frame have[RSYM_FRAMES_MAX];
	struct frame a[RSYM_FRAMES_MAX], b[RSYM_FRAMES_MAX];
	struct rsym_column columns[RSYM_FRAMES_MAX];
	int want_count = verify_expect(&run->verify->source, start, want, ARRAY_LEN(want));
	int have_count = rsym_lookup(run->t, start - run->verify->bias, have, ARRAY_LEN(have));
	bool equal = want_count == have_count, has_columns = run->has_columns;
	int rc = want_count < 0 ? err_no_memory(err) : 0;

	if (want_count > 0 && !note_function(run, &want[want_count - 1], start, begins))
		rc = err_no_memory(err);
	for (int i = 0; i < want_count && !rc; i++)
		rc = fill_expected_frame(run, &want[i], &a[i], err);
	if (has_columns)
		rsym_columns_at(run->t, start - run->verify->bias, columns, (size_t)have_count);
	for (int i = 0; i < have_count && !rc; i++) {
		rc = fill_found_frame(run, &have[i], i + 1 == have_count, &b[i], err);
		if (has_columns)
			b[i].column_word = columns[i].column + (columns[i].discriminator << 16);
	}
	for (int i = 0; i < want_count && equal && !rc; i++)
		equal = same_frame(&a[i], &b[i]);
	run->report->place_count++;
	if (rc || equal || run->report->difference_count++ >= LIMIT_VERIFY_PRINTED)
		return rc;
	buf_printf(run->out, "0x%llx to 0x%llx:\n", (unsigned long long)(start - run->verify->bias),
		   (unsigned long long)(end - run->verify->bias));
	put_chain(run, "file ", a, want_count);
	put_chain(run, "table", b, have_count);
	return 0;
}

/* Compares all ranges of the table, split where the answer of the file may change. */
static int compare_all(struct verify_run *run, struct err *err)
{
	const struct verify_source *f = &run->verify->source;
	uint64_t at = 0, start, end, bias = run->verify->bias;
	size_t edge = 0;
	int rc = 0;

	do {
		uint64_t to;

		run->report->range_count += rsym_range(run->t, at, &start, &end) != 0;
		to = end > UINT64_MAX - bias ? UINT64_MAX : end + bias;
		for (uint64_t from = at + bias, next; from < to && !rc; from = next) {
			while (edge < f->edge_count && f->edges[edge] <= from)
				edge++;
			next = edge < f->edge_count && f->edges[edge] < to ? f->edges[edge] : to;
			if (run->has_columns) {
				uint64_t changes = rsym_columns_end(run->t, from - bias);

				if (changes < next - bias)
					next = changes + bias;
			}
			rc = compare_range(run, from, next, from == at + bias, err);
		}
		if (end <= at)
			break; /* the last range */
		at = end;
	} while (at < UINT64_MAX - bias && !rc);
	return rc ? rc : run->out->failed ? err_no_memory(err) : 0;
}

int verify_open(struct verify **ret, struct image *im, struct image *executable,
		const struct die_companions *companions, struct debug_report *debug,
		struct err *err)
{
	_cleanup_(verify_freep) struct verify *v = calloc(1, sizeof(*v));

	if (!v)
		return err_no_memory(err);
	v->bias = image_bias(im);
	buf_init(&v->text, 4 * LIMIT_NAME_LEN);
	verify_source_init(&v->source);
	TRY(verify_source_read(&v->source, im, executable, companions, debug, err));
	v->source_path = new_unseen_array(v->source.text.files.count);
	v->empty = debug_string(&v->source.text, "", 0);
	if (!v->source_path || v->empty == DEBUG_NONE)
		return err_no_memory(err);
	*ret = TAKE_PTR(v);
	return 0;
}

void verify_free(struct verify *v)
{
	if (!v)
		return;
	verify_source_done(&v->source);
	free(v->source_path);
	buf_done(&v->text);
	free(v);
}

int verify_compare_table(struct verify *v, const struct rsym *t, struct verify_report *report,
			 struct buf *out, struct err *err)
{
	struct verify_run run = {.verify = v, .t = t, .report = report, .out = out};
	int rc;

	*report = (struct verify_report){
		.unit_count = v->source.unit_count,
		.units_skipped = v->source.units_skipped,
		.lines_refused = v->source.lines_refused,
	};
	verify_source_rewind(&v->source);
	run.function_name = new_unseen_array(t->function_count);
	run.file_path = new_unseen_array(t->file_count);
	run.texts = rsym_reader_new(t, TEXTS_MAX, err);
	run.has_columns = t->columns.p != NULL;
	if (t->types.p)
		run.function_type = new_unseen_array(t->function_count);
	run.seen = calloc(v->source.scope_count + 1, 1);
	if (!run.function_name || !run.file_path || !run.texts ||
	    (t->types.p && !run.function_type) || !run.seen)
		rc = err_no_memory(err);
	else
		rc = compare_all(&run, err);
	if (!rc)
		rc = verify_compare_aliases(&run, err);
	rsym_reader_free(run.texts);
	free(run.function_name);
	free(run.file_path);
	free(run.function_type);
	free(run.entered);
	free(run.seen);
	return rc;
}
