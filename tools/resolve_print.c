/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_print.h"

#include <inttypes.h>

#include "json.h"
#include "text.h"

void resolve_begin(struct resolve_printer *p, uint64_t address, const char *status)
{
	p->address = address;
	p->frames = 0;
	if (p->style == RESOLVE_GNU)
		buf_printf(p->out, "0x%016" PRIx64 "\n", address);
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

static void text_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	if (p->frames)
		buf_str(p->out, " (inlined by) ");
	else
		buf_printf(p->out, "0x%" PRIx64 ": ", p->address);
	name_or(p->out, f->function, f->function_len, "??");
	if (f->file_len) {
		buf_str(p->out, " at ");
		text_append(p->out, f->file, f->file_len);
		buf_printf(p->out, f->line ? ":%u" : ":?", f->line);
	}
	buf_str(p->out, "\n");
}

static void json_frame(const struct resolve_printer *p, const struct resolve_frame *f)
{
	json_open(p->out, '{');
	json_key_text(p->out, "function", f->function, f->function_len);
	json_key_text(p->out, "file", f->file, f->file_len);
	json_key_number(p->out, "line", f->line);
	json_key_bool(p->out, "inlined", f->inlined);
	json_close(p->out, '}');
}

void resolve_frame(struct resolve_printer *p, const struct resolve_frame *f)
{
	switch (p->style) {
	case RESOLVE_TEXT:
		text_frame(p, f);
		break;
	case RESOLVE_JSON:
		json_frame(p, f);
		break;
	case RESOLVE_LLVM:
	case RESOLVE_GNU:
		name_or(p->out, f->function, f->function_len, "??");
		buf_str(p->out, "\n");
		name_or(p->out, f->file, f->file_len, "??");
		if (p->style == RESOLVE_LLVM)
			buf_printf(p->out, ":%u:0\n", f->line);
		else
			buf_printf(p->out, f->line ? ":%u\n" : ":?\n", f->line);
		break;
	}
	p->frames++;
}

void resolve_end(struct resolve_printer *p)
{
	if (!p->frames && p->style == RESOLVE_TEXT)
		buf_printf(p->out, "0x%" PRIx64 ": ??\n", p->address);
	if (!p->frames && p->style == RESOLVE_LLVM)
		buf_str(p->out, "??\n??:0:0\n");
	if (!p->frames && p->style == RESOLVE_GNU)
		buf_str(p->out, "??\n??:0\n");
	if (p->style == RESOLVE_LLVM)
		buf_str(p->out, "\n");
	if (p->style == RESOLVE_JSON) {
		json_close(p->out, ']');
		json_close(p->out, '}');
		buf_str(p->out, "\n");
	}
}
