/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_print.h"

#include <string.h>

#include "json.h"
#include "text.h"

void resolve_begin(struct resolve_printer *p, uint64_t address, const char *status)
{
	p->address = address;
	p->frames = 0;
	if (p->style == RESOLVE_GNU && p->gnu.addresses) {
		buf_str(p->out, "0x");
		buf_hex(p->out, address, p->gnu.address_bytes == 4 ? 8 : 16);
		buf_str(p->out, p->gnu.pretty ? ": " : "\n");
	}
	if (p->style != RESOLVE_JSON)
		return;
	json_open(p->out, '{');
	json_key_hex(p->out, "address", address);
	json_key_cstr(p->out, "status", status);
	json_key(p->out, "frames");
	json_open(p->out, '[');
}

static void name_or(struct buf *out, const void *p, size_t len, const char *none)
{
	if (len)
		text_append(out, p, len);
	else
		buf_str(out, none);
}

/* Lines of source to print before and after the line of a frame. */
#define SOURCE_AROUND 2

static void append_source(const struct resolve_printer *p, const struct resolve_frame *f)
{
	uint32_t first = f->line > SOURCE_AROUND ? f->line - SOURCE_AROUND : 1;
	uint64_t last = (uint64_t)f->line + SOURCE_AROUND; /* a line may be any number */
	const char *line;
	size_t len;

	if (!f->line)
		return;
	for (uint64_t i = first; i <= last && i <= UINT32_MAX; i++) {
		if (!source_line(p->source, f->file, f->file_len, (uint32_t)i, &line, &len))
			continue;
		buf_printf(p->out, "  %c%6u  ", i == f->line ? '>' : ' ', (uint32_t)i);
		for (size_t k = 0; k < len;) {
			const char *tab = memchr(line + k, '\t', len - k);
			size_t n = tab ? (size_t)(tab - line) - k : len - k;

			text_append(p->out, line + k, n);
			if (tab)
				buf_str(p->out, "\t");
			k += n + (tab != NULL);
		}
		buf_str(p->out, "\n");
	}
}

/* Begins a link to the file (OSC 8 of terminals). Returns false if the text is to be no link. */
static bool begin_link(const struct resolve_printer *p, const struct resolve_frame *f)
{
	const uint8_t *path = f->file;

	if (!p->links || !f->file_len || path[0] != '/')
		return false;
	buf_str(p->out, "\033]8;;file://");
	for (size_t i = 0; i < f->file_len; i++) {
		bool plain = path[i] > 0x20 && path[i] < 0x7f && path[i] != '%' && path[i] != '"';

		buf_printf(p->out, plain ? "%c" : "%%%02X", path[i]);
	}
	buf_str(p->out, "\033\\");
	return true;
}

static void append_line(const struct resolve_printer *p, const struct resolve_frame *f)
{
	buf_u8(p->out, ':');
	if (f->line)
		buf_decimal(p->out, f->line);
	else
		buf_u8(p->out, '?');
}

static void append_resolved_place(const struct resolve_printer *p, const struct resolve_frame *f)
{
	bool linked;

	if (!f->file_len)
		return;
	buf_str(p->out, " at ");
	linked = begin_link(p, f);
	text_append(p->out, f->file, f->file_len);
	append_line(p, f);
	if (linked)
		buf_str(p->out, "\033]8;;\033\\");
}

static void line_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	buf_str(p->out, p->frames ? ", inlined into " : " ");
	name_or(p->out, f->function, f->function_len, "??");
	append_resolved_place(p, f);
}

static void append_address(const struct resolve_printer *p)
{
	buf_str(p->out, "0x");
	buf_hex(p->out, p->address, 1);
	buf_str(p->out, ": ");
}

static void text_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	if (p->frames)
		buf_str(p->out, " (inlined by) ");
	else
		append_address(p);
	name_or(p->out, f->function, f->function_len, "??");
	append_resolved_place(p, f);
	buf_str(p->out, "\n");
	if (p->source)
		append_source(p, f);
}

static void put_resolved_json(const struct resolve_printer *p, const struct resolve_frame *f)
{
	json_open(p->out, '{');
	json_key_text(p->out, "function", f->function, f->function_len);
	json_key_text(p->out, "file", f->file, f->file_len);
	json_key_number(p->out, "line", f->line);
	json_key_bool(p->out, "inlined", f->inlined);
	json_close(p->out, '}');
}

static void llvm_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	name_or(p->out, f->function, f->function_len, "??");
	buf_str(p->out, "\n");
	name_or(p->out, f->file, f->file_len, "??");
	buf_u8(p->out, ':');
	buf_decimal(p->out, f->line);
	buf_str(p->out, ":0\n");
}

static void gnu_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	const uint8_t *file = f->file;
	size_t file_len = f->file_len;
	const uint8_t *slash = file_len && p->gnu.base_names ? memrchr(file, '/', file_len) : NULL;

	if (p->frames && !p->gnu.inlines)
		return;
	if (slash) {
		file_len -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
	if (p->frames && p->gnu.pretty)
		buf_str(p->out, " (inlined by) ");
	if (p->gnu.functions) {
		name_or(p->out, f->function, f->function_len, "??");
		buf_str(p->out, p->gnu.pretty ? " at " : "\n");
	}
	name_or(p->out, file, file_len, "??");
	append_line(p, f);
	buf_u8(p->out, '\n');
}

void resolve_frame(struct resolve_printer *p, const struct resolve_frame *f)
{
	switch (p->style) {
	case RESOLVE_TEXT:
		text_frame(p, f);
		break;
	case RESOLVE_JSON:
		put_resolved_json(p, f);
		break;
	case RESOLVE_LLVM:
		llvm_frame(p, f);
		break;
	case RESOLVE_GNU:
		gnu_frame(p, f);
		break;
	case RESOLVE_LINE:
		line_frame(p, f);
		break;
	}
	p->frames++;
}

static void print_nothing(const struct resolve_printer *p)
{
	switch (p->style) {
	case RESOLVE_TEXT:
		append_address(p);
		buf_str(p->out, "??\n");
		break;
	case RESOLVE_JSON:
	case RESOLVE_LINE:
		break;
	case RESOLVE_LLVM:
		buf_str(p->out, "??\n??:0:0\n");
		break;
	case RESOLVE_GNU:
		if (p->gnu.functions)
			buf_str(p->out, p->gnu.pretty ? "?? " : "??\n");
		buf_str(p->out, "??:0\n");
		break;
	}
}

void resolve_end(struct resolve_printer *p)
{
	if (!p->frames)
		print_nothing(p);
	if (p->style == RESOLVE_LLVM)
		buf_str(p->out, "\n");
	if (p->style == RESOLVE_JSON) {
		json_close(p->out, ']');
		json_close(p->out, '}');
		buf_str(p->out, "\n");
	}
}
