/* SPDX-License-Identifier: Apache-2.0 */
#include "table_make.h"

#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "bytes.h"
#include "companion_images.h"
#include "demangle.h"
#include "die_scan.h"
#include "image.h"
#include "kallsyms.h"
#include "limits.h"
#include "merge.h"
#include "rsym_code.h"
#include "rsym_format.h"
#include "rsym_report.h"
#include "sort.h"
#include "worker_protocol.h"

struct build {
	struct builder builder;
	struct rsym_writer *writer;
	struct rsym_writer_info info;
	struct build_report *report;
	struct buf notes; /* parts that could not be read, for the table's report */
	struct table_progress *progress;
	uint64_t *wanted; /* with the image's bias, ascending, distinct; NULL for all */
	size_t wanted_count;
};

static void tell_stage(const struct build *b, enum table_stage stage, uint64_t done, uint64_t all)
{
	if (!b->progress)
		return;
	atomic_store_explicit(&b->progress->stage, stage, memory_order_relaxed);
	atomic_store_explicit(&b->progress->done, done, memory_order_relaxed);
	atomic_store_explicit(&b->progress->all, all, memory_order_relaxed);
}

/* Adds the segments of the executable, which is the file itself or was given with it. Those of a
 * debug file are useless, because objcopy rewrites their file offsets. */
static void add_table_segments(struct build *b, const struct image *im,
			       const struct image *executable)
{
	const struct image *from = executable ? executable : im;
	const struct image_segment *s;
	size_t count;

	if (image_is_debug_only(from))
		return;
	s = image_segments(from, &count);
	for (size_t i = 0; i < count; i++, s++)
		rsym_writer_segment(b->writer, &(struct rsym_writer_segment){
						       .vaddr = s->vaddr,
						       .mem_len = s->mem_len,
						       .file_off = s->file_off,
						       .file_len = s->file_len,
						       .flags = s->flags,
					       });
	b->report->has_segments = count > 0;
}

/* Adds the code sections, because addresses in a loaded module are relative to them. */
static int add_code_sections(struct build *b, const struct image *im, struct err *err)
{
	_cleanup_(freep) struct rsym_code_section *list = NULL;
	struct image_code_section s;
	size_t count = 0, cap = 0;

	/* If there are more than a table keeps, it keeps none. */
	for (size_t i = 0; count <= LIMIT_CODE_SECTIONS && image_code_section(im, &i, &s);
	     count++) {
		if (!GROW(list, &cap, count + 1, SIZE_MAX))
			return err_no_memory(err);
		list[count] =
			(struct rsym_code_section){.name = s.name,
						   .name_len = strnlen(s.name, LIMIT_NAME_LEN),
						   .vaddr = s.vaddr,
						   .len = s.len};
	}
	rsym_code_put(rsym_writer_optional(b->writer, RSYM_SECTION_CODE), list, count);
	return 0;
}

/* Sets the text base of a linked kernel, which is known by the symbols that it exports to
 * modules. */
static void find_text_base(struct build *b, struct image *im)
{
	uint32_t name = intern_find(&b->builder.text.strings, "_text", 5);
	const uint8_t *p;
	size_t len;

	if (name == INTERN_FULL || image_bias(im) ||
	    image_section(im, "__ksymtab", &p, &len, NULL) != 1)
		return;
	for (size_t i = 0; i < b->builder.symbols.count; i++) {
		if (b->builder.symbols.list[i].name != name)
			continue;
		b->info.text_base = b->builder.symbols.list[i].vaddr;
		b->info.flags |= RSYM_IS_KERNEL;
		return;
	}
}

/* Notes an error in a part that the build can do without. Returns ERR_MEMORY if that was the
 * error. */
static int note_skipped_part(struct build *b, const char *part, const struct err *why, int rc,
			     struct err *err)
{
	if (rc == ERR_MEMORY)
		return err_set(err, rc, "%s", why->message);
	if (!rc)
		return 0;
	if (!b->report->skipped[0])
		snprintf(b->report->skipped, sizeof(b->report->skipped), "%s", why->message);
	rsym_report_note(&b->notes, part, "", why->message);
	return 0;
}

static int add_table_symbols(struct build *b, struct image *im, uint64_t *ret_count,
			     struct err *err)
{
	struct builder *bu = &b->builder;
	uint64_t mini = 0;
	struct err why;
	int rc;

	TRY(image_add_symbols(im, &bu->text, &bu->symbols, ret_count, err));
	rc = image_add_mini_symbols(im, &bu->text, &bu->symbols, &mini, &why);
	*ret_count += mini;
	return note_skipped_part(b, "MiniDebugInfo", &why, rc, err);
}

static int read_symbols(struct build *b, struct image *im, struct image *executable,
			struct err *err)
{
	uint64_t count = 0, stubs;

	TRY(add_table_symbols(b, im, &count, err));
	if (!count && executable)
		TRY(add_table_symbols(b, executable, &count, err));
	TRY(image_add_plt_symbols(image_is_debug_only(im) && executable ? executable : im,
				  &b->builder.text, &b->builder.symbols, &stubs, err));
	count += stubs;
	b->report->symbol_count = count;
	if (count)
		b->info.flags |= RSYM_HAS_SYMBOLS;
	find_text_base(b, im);
	return 0;
}

static void report_relocations(struct build *b, const struct image *im)
{
	const char *first;

	b->report->relocations_skipped = image_relocations_skipped(im, &first);
	snprintf(b->report->relocation_skipped, sizeof(b->report->relocation_skipped), "%s", first);
}

static int want_addresses(struct build *b, const struct table_source *source, uint64_t bias,
			  struct err *err)
{
	bool rises = true;

	if (!source->wanted_count)
		return 0;
	b->wanted = calloc(source->wanted_count, sizeof(*b->wanted));
	if (!b->wanted)
		return err_no_memory(err);
	for (size_t i = 0; i < source->wanted_count; i++) {
		b->wanted[i] = source->wanted[i] + bias;
		rises &= !i || b->wanted[i] > b->wanted[i - 1];
	}
	if (!rises)
		qsort(b->wanted, source->wanted_count, sizeof(*b->wanted), compare_u64);
	for (size_t i = 0; i < source->wanted_count; i++)
		if (!i || b->wanted[i] != b->wanted[b->wanted_count - 1])
			b->wanted[b->wanted_count++] = b->wanted[i];
	return 0;
}

/* Keeps only the spans of symbols that hold a wanted address. */
static void keep_wanted(const struct build *b, struct interval_overlay *spans)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < spans->count; i++) {
		while (at < b->wanted_count && b->wanted[at] < spans->spans[i].start)
			at++;
		if (at < b->wanted_count && b->wanted[at] < spans->spans[i].end)
			spans->spans[kept++] = spans->spans[i];
	}
	spans->count = kept;
}

static int add_table_unit(void *ctx, const struct debug_unit *unit, struct err *err)
{
	struct build *b = ctx;
	struct debug_sink sink = builder_sink(&b->builder);

	tell_stage(b, TABLE_STAGE_DWARF, unit->done, unit->all);
	return sink.unit(sink.ctx, unit, err);
}

/* Reads the units in two threads, each of which reads and flattens a part of them. */
static int read_in_two(struct build *b, struct image *im, const struct table_source *source,
		       const struct die_companions *c, struct debug_report *debug, struct err *err)
{
	struct debug_sink first = {.ctx = b, .unit = add_table_unit}, second;
	_cleanup_(builder_done) struct builder half;
	struct die_part parts[2];

	builder_init(&half);
	second = builder_sink(&half);
	for (size_t i = 0; i < b->builder.flat.code.count; i++) {
		const struct interval_span *s = &b->builder.flat.code.spans[i];

		if (!interval_overlay_add(&half.flat.code, s->start, s->end, s->rank, s->value))
			return err_no_memory(err);
	}
	parts[0] = (struct die_part){.text = &b->builder.text, .sink = &first};
	parts[1] = (struct die_part){.text = &half.text, .sink = &second};
	TRY(scan_parallel(im, c, parts, debug, source->helper, err));
	return merge_flat(&b->builder.flat, &b->builder.text, &half.flat, &half.text, err);
}

static int read_dwarf(struct build *b, struct image *im, const struct table_source *source,
		      struct debug_report *debug, struct err *err)
{
	_cleanup_(buf_done) struct buf units = BUF_INIT(LIMIT_MISSING_LEN - LIMIT_PATH_LEN - 4);
	_cleanup_(companion_images_close) struct die_companions c = {0};
	struct debug_sink sink = {.ctx = b, .unit = add_table_unit};

	TRY(companion_images_open(&c, source, err));
	c.missing = source->missing ? &units : NULL;
	c.notes = &b->notes;
	c.columns = source->columns;
	c.types = source->types;
	c.helper = source->helper;
	c.wanted = b->wanted;
	c.wanted_count = b->wanted_count;
	/* Signatures are read in one thread, because joining two halves is not worth the code. */
	TRY(source->helper && !c.types
		    ? read_in_two(b, im, source, &c, debug, err)
		    : die_scan_with(im, &c, &b->builder.text, &sink, debug, err));
	if (source->missing)
		return companion_images_missing(im, debug, &units, source->missing, err);
	return 0;
}

static int read_elf(struct build *b, const struct table_source *source, struct err *err)
{
	_cleanup_(image_freep) struct image *im = NULL, *executable = NULL;
	struct builder *bu = &b->builder;
	struct debug_report debug;

	TRY(image_open(&im, source->p, source->len, err));
	if (source->executable &&
	    image_open(&executable, source->executable, source->executable_len, err))
		return err_prefix(err, "executable");
	if (source->mapped)
		image_set_mapped(im);
	bu->bias = image_bias(im);
	TRY(image_add_code(im, &bu->flat.code, err));
	TRY(interval_overlay_flatten(&bu->flat.code, err));
	/* If a file marks nothing as code, every address counts as code. A relocatable file without
	 * code sections has nothing to look up. */
	if (bu->bias && !bu->flat.code.count)
		return err_set(err, ERR_UNSUPPORTED, "no code in it: nothing to look up");
	TRY(read_symbols(b, im, executable, err));
	TRY(want_addresses(b, source, image_bias(im), err));
	TRY(read_dwarf(b, im, source, &debug, err));
	image_forget(im);
	add_table_segments(b, im, executable);
	TRY(add_code_sections(b, im, err));
	report_relocations(b, im);
	b->report->unit_count = debug.unit_count;
	b->report->units_skipped = debug.units_skipped;
	b->report->info_len = debug.info_len;
	b->report->info_read = debug.info_read;
	b->report->needs_alt_file = debug.needs_alt_file;
	if (debug.skipped[0])
		memcpy(b->report->skipped, debug.skipped, sizeof(b->report->skipped));
	b->report->has_dwarf = debug.unit_count > 0;
	if (debug.unit_count)
		b->info.flags |= RSYM_HAS_DWARF;
	else if (!b->report->symbol_count && debug.units_skipped)
		return err_set(err, ERR_DATA, "no unit of its debug information can be read: %s",
			       debug.skipped);
	else if (!b->report->symbol_count)
		return err_set(err, ERR_UNSUPPORTED,
			       "no debug information and no symbols: nothing to look up");
	return 0;
}

static int add_kallsyms(struct build *b, const struct table_source *source, struct err *err)
{
	struct builder *bu = &b->builder;

	if (source->id.kind == BUILD_ID_NONE)
		return err_set(err, ERR_USAGE, "kallsyms: the kernel's build id must be given");
	TRY(kallsyms_read(source->p, source->len, &bu->text, &bu->symbols, &b->info.text_base,
			  err));
	b->report->symbol_count = bu->symbols.count;
	b->info.flags |= RSYM_HAS_SYMBOLS | RSYM_IS_KERNEL;
	return want_addresses(b, source, 0, err);
}

static bool show_name(enum rsym_shown_style style, const void *name, size_t len, struct buf *out)
{
	return demangle_append(style == RSYM_SHOWN_FULL ? DEMANGLE_FULL : DEMANGLE_SHORT, name, len,
			       out);
}

/* Reads the input and gives everything that the table has to the writer. */
static int read_input(struct build *b, const struct table_source *source,
		      struct builder_counts *counts, struct err *err)
{
	bool text = source->input == TABLE_INPUT_KALLSYMS ||
		    (source->input == TABLE_INPUT_AUTO && kallsyms_detect(source->p, source->len));

	TRY(text ? add_kallsyms(b, source, err) : read_elf(b, source, err));
	tell_stage(b, TABLE_STAGE_PACK, 0, 0);
	TRY(symbols_choose(&b->builder.symbols, &b->builder.flat.code, err));
	if (b->wanted_count)
		keep_wanted(b, &b->builder.symbols.spans);
	return builder_write(&b->builder, b->writer, counts, err);
}

static int assemble_table(struct build *b, const struct table_source *source, struct buf *out,
			  struct err *err)
{
	struct builder_counts counts;
	struct rsym_report kept;

	b->report->input_len = source->len;
	b->builder.columns = source->columns;
	b->writer = rsym_writer_new(err);
	if (!b->writer)
		return ERR_MEMORY;
	b->info.id = source->id;
	b->info.quick = source->wanted_count != 0;
	b->info.show = source->shown ? show_name : NULL;
	TRY(read_input(b, source, &counts, err));
	builder_done(&b->builder); /* the writer has copied what it needs */
	kept = (struct rsym_report){
		.input_len = source->len,
		.unit_count = b->report->unit_count,
		.units_skipped = b->report->units_skipped,
		.symbol_count = b->report->symbol_count,
		.inline_count = counts.inline_count,
		.relocations_skipped = b->report->relocations_skipped,
		.needs_alt_file = b->report->needs_alt_file,
	};
	rsym_report_put(rsym_writer_optional(b->writer, RSYM_SECTION_REPORT), &kept, &b->notes);
	TRY(rsym_writer_finish(b->writer, &b->info, source->helper, out, err));
	b->report->id = source->id;
	b->report->function_count = counts.function_count;
	b->report->range_count = counts.range_count;
	b->report->inline_count = counts.inline_count;
	b->report->file_count = counts.file_count;
	b->report->table_len = out->len;
	return 0;
}

int table_make(const struct table_source *source, struct buf *out, struct build_report *report,
	       struct err *err)
{
	struct build b = {
		.report = report,
		.notes = BUF_INIT(LIMIT_SKIPPED_LEN),
		.progress = source->progress,
	};
	int rc;

	*report = (struct build_report){0};
	builder_init(&b.builder);
	rc = assemble_table(&b, source, out, err);
	rsym_writer_free(b.writer);
	builder_done(&b.builder);
	buf_done(&b.notes);
	free(b.wanted);
	return rc;
}
