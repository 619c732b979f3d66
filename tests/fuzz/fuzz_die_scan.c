/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as debug sections: the scanner ends, in bounds, and what it gives are units that a
 * builder may trust. The input is eight 16-bit lengths, those sections in the order of enum
 * made_section without .debug_info, then .debug_info. tests/fuzz/pack_sections makes one from an
 * ELF file.
 */
#include "bytes.h"
#include "die_scan.h"
#include "limits.h"
#include "made_dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

#define INPUT_MAX ((size_t)1 << 20)

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_file(const struct debug_text *text, uint32_t file)
{
	must(file == DEBUG_NONE || file < text->files.count);
}

static int check_unit(void *ctx, const struct debug_unit *u, struct err *err _unused_)
{
	const struct debug_text *text = ctx;

	for (size_t i = 0; i < u->scope_count; i++) {
		const struct debug_scope *s = &u->scopes[i];

		must(s->parent == DEBUG_NONE || s->parent < i);
		must(s->name == DEBUG_NONE || s->name < text->strings.count);
		check_file(text, s->decl_file);
		check_file(text, s->call_file);
	}
	for (size_t i = 0; i < u->span_count; i++)
		must(u->spans[i].start < u->spans[i].end && u->spans[i].scope < u->scope_count);
	for (size_t i = 0; i < u->range_count; i++)
		must(u->ranges[i].start < u->ranges[i].end);
	for (size_t i = 0; i < u->row_count; i++) {
		check_file(text, u->rows[i].file);
		must(u->rows[i].file != DEBUG_NONE || !u->rows[i].line);
	}
	return 0;
}

static void scan(const struct made *m)
{
	_cleanup_(buf_done) struct buf elf = BUF_INIT(SIZE_MAX);
	_cleanup_(image_freep) struct image *im = NULL;
	struct debug_text text;
	struct debug_sink sink = {.ctx = &text, .unit = check_unit};
	struct debug_report report;
	struct err err;

	made_elf(m, &elf);
	must(!elf.failed && image_open(&im, elf.p, elf.len, &err) == 0);
	debug_text_init(&text);
	must(die_scan(im, &text, &sink, &report, &err) == 0);
	must(!report.units_skipped || report.skipped[0]);
	debug_text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct bytes in = bytes_of(p, len < INPUT_MAX ? len : INPUT_MAX);
	size_t lens[MADE_SECTIONS];
	struct made m;

	for (int i = MADE_ABBREV; i < MADE_SECTIONS; i++)
		lens[i] = bytes_u16(&in);
	made_init(&m);
	for (int i = MADE_ABBREV; i < MADE_SECTIONS; i++) {
		if (lens[i] > in.left)
			lens[i] = in.left;
		buf_append(&m.sections[i], bytes_take(&in, lens[i]), lens[i]);
	}
	buf_append(&m.sections[MADE_INFO], in.p, in.left);
	scan(&m);
	made_done(&m);
	return 0;
}
