/* SPDX-License-Identifier: Apache-2.0 */
#include "made_dwarf.h"

#include <dwarf.h>
#include <elf.h>
#include <stdarg.h>

#include "limits.h"

#define MADE_MAX ((size_t)1 << 34)

static const char *const names[MADE_SECTIONS] = {
	".debug_info", ".debug_abbrev",   ".debug_str",
	".debug_line", ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_ranges",   ".debug_rnglists",
};

void made_init(struct made *m)
{
	*m = (struct made){0};
	for (int i = 0; i < MADE_SECTIONS; i++)
		buf_init(&m->sections[i], MADE_MAX);
}

void made_done(struct made *m)
{
	for (int i = 0; i < MADE_SECTIONS; i++)
		buf_done(&m->sections[i]);
}

void made_elf(const struct made *m, struct buf *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(4096), headers = BUF_INIT(4096);
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Shdr null = {0};

	buf_append(out, &eh, sizeof(eh));
	buf_append(&headers, &null, sizeof(null));
	buf_u8(&text, 0);
	for (int i = 0; i <= MADE_SECTIONS; i++) {
		bool last = i == MADE_SECTIONS;
		const struct buf *b = last ? &text : &m->sections[i];
		const char *name = last ? ".shstrtab" : names[i];
		Elf64_Shdr sh = {
			.sh_name = (Elf64_Word)text.len,
			.sh_type = last ? SHT_STRTAB : SHT_PROGBITS,
			.sh_addralign = 1,
		};

		if (!b->len)
			continue;
		buf_append(&text, name, strlen(name) + 1);
		sh.sh_offset = out->len;
		sh.sh_size = b->len;
		buf_append(out, b->p, b->len);
		buf_append(&headers, &sh, sizeof(sh));
	}
	eh.e_shoff = out->len;
	eh.e_shnum = (Elf64_Half)(headers.len / sizeof(Elf64_Shdr));
	eh.e_shstrndx = (Elf64_Half)(eh.e_shnum - 1);
	buf_append(out, headers.p, headers.len);
	memcpy(out->p, &eh, sizeof(eh));
}

void made_abbrev(struct made *m, int code, int tag, int children, ...)
{
	struct buf *b = &m->sections[MADE_ABBREV];
	va_list ap;
	int attribute;

	buf_uleb(b, (uint64_t)code);
	buf_uleb(b, (uint64_t)tag);
	buf_u8(b, (uint8_t)children);
	va_start(ap, children);
	while ((attribute = va_arg(ap, int)) >= 0) {
		int form = va_arg(ap, int);

		buf_uleb(b, (uint64_t)attribute);
		buf_uleb(b, (uint64_t)form);
		if (form == DW_FORM_implicit_const)
			buf_sleb(b, va_arg(ap, int));
	}
	va_end(ap);
	buf_u16(b, 0);
}

void made_u(struct made *m, unsigned int size, uint64_t v)
{
	buf_append(&m->sections[MADE_INFO], &v, size);
}

void made_leb(struct made *m, uint64_t v)
{
	buf_uleb(&m->sections[MADE_INFO], v);
}

void made_text(struct made *m, const char *s)
{
	buf_append(&m->sections[MADE_INFO], s, strlen(s) + 1);
}

void made_unit(struct made *m, unsigned int version, unsigned int offset_size,
	       unsigned int address_size, uint64_t abbrev_off)
{
	m->version = version;
	m->offset_size = offset_size;
	m->address_size = address_size;
	m->unit = m->sections[MADE_INFO].len;
	if (offset_size == 8)
		made_u(m, 4, UINT32_MAX);
	made_u(m, offset_size, 0);
	made_u(m, 2, version);
	if (version >= 5) {
		made_u(m, 1, DW_UT_compile);
		made_u(m, 1, address_size);
	}
	made_u(m, offset_size, abbrev_off);
	if (version < 5)
		made_u(m, 1, address_size);
}

void made_unit_end(struct made *m)
{
	struct buf *b = &m->sections[MADE_INFO];
	size_t at = m->offset_size == 8 ? 4 : 0;
	uint64_t len = b->len - m->unit - at - m->offset_size;

	memcpy(b->p + m->unit + at, &len, m->offset_size);
}

uint64_t made_at(const struct made *m)
{
	return m->sections[MADE_INFO].len - m->unit;
}

static void print_string(const struct debug_text *text, uint32_t id, struct buf *out)
{
	size_t len;
	const void *s;

	if (id == DEBUG_NONE) {
		buf_str(out, "-");
		return;
	}
	s = intern_get(&text->strings, id, &len);
	buf_append(out, s, len);
}

static void print_file(const struct debug_text *text, uint32_t id, uint32_t line, struct buf *out)
{
	struct debug_file f = {.dir = DEBUG_NONE, .base = DEBUG_NONE};

	if (id != DEBUG_NONE) {
		memcpy(&f, intern_get(&text->files, id, NULL), sizeof(f));
		print_string(text, f.dir, out);
		buf_str(out, "|");
	}
	print_string(text, f.base, out);
	buf_printf(out, ":%u", line);
}

static void print_scope(const struct debug_text *text, const struct debug_scope *s, struct buf *out)
{
	print_string(text, s->name, out);
	if (s->has_entry)
		buf_printf(out, " entry %llx", (unsigned long long)s->entry);
	buf_str(out, " decl ");
	print_file(text, s->decl_file, s->decl_line, out);
	if (s->parent != DEBUG_NONE || s->call_line) {
		buf_str(out, " call ");
		print_file(text, s->call_file, s->call_line, out);
	}
	buf_str(out, "\n");
}

void made_print(const struct debug_text *text, const struct debug_unit *u, struct buf *out)
{
	_cleanup_(freep) uint32_t *number = calloc(u->scope_count + 1, sizeof(*number));
	uint32_t count = 0;

	if (!number)
		abort();
	for (size_t i = 0; i < u->span_count; i++)
		for (uint32_t at = u->spans[i].scope; at != DEBUG_NONE && !number[at];
		     at = u->scopes[at].parent)
			number[at] = 1;
	buf_str(out, "unit\n");
	for (size_t i = 0; i < u->range_count; i++)
		buf_printf(out, "range %llx %llx\n", (unsigned long long)u->ranges[i].start,
			   (unsigned long long)u->ranges[i].end);
	for (size_t i = 0; i < u->scope_count; i++) {
		const struct debug_scope *s = &u->scopes[i];

		if (!number[i])
			continue;
		number[i] = ++count;
		buf_printf(out, "scope %u in %u ", count,
			   s->parent == DEBUG_NONE ? 0 : number[s->parent]);
		print_scope(text, s, out);
	}
	for (size_t i = 0; i < u->span_count; i++)
		buf_printf(out, "span %llx %llx of %u\n", (unsigned long long)u->spans[i].start,
			   (unsigned long long)u->spans[i].end, number[u->spans[i].scope]);
	for (size_t i = 0; i < u->row_count; i++) {
		buf_printf(out, "row %llx ", (unsigned long long)u->rows[i].vaddr);
		print_file(text, u->rows[i].file, u->rows[i].line, out);
		buf_str(out, u->rows[i].end ? " end\n" : "\n");
	}
}

struct printer {
	struct debug_text text;
	struct buf *out;
};

static int print_unit(void *ctx, const struct debug_unit *u, struct err *err _unused_)
{
	struct printer *p = ctx;

	made_print(&p->text, u, p->out);
	return 0;
}

int made_report(made_reader *reader, const void *elf, size_t len, struct buf *out, struct err *err)
{
	_cleanup_(image_freep) struct image *im = NULL;
	struct printer p = {.out = out};
	struct debug_sink sink = {.ctx = &p, .unit = print_unit};
	struct debug_report report = {0};
	int rc = image_open(&im, elf, len, err);

	if (rc)
		return rc;
	debug_text_init(&p.text);
	rc = reader(im, &p.text, &sink, &report, err);
	debug_text_done(&p.text);
	if (report.units_skipped)
		buf_printf(out, "skipped %llu: %s\n", (unsigned long long)report.units_skipped,
			   report.skipped);
	else if (report.skipped[0])
		buf_printf(out, "lines: %s\n", report.skipped);
	if (report.needs_alt_file)
		buf_str(out, "alt\n");
	buf_cstr(out);
	return rc;
}
