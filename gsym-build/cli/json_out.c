/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <stdio.h>

#include "json.h"
#include "rsym_report.h"

/* The most aliases printed for one function. Folded constructors of large programs have some
 * thousands. */
enum {
	LIMIT_JSON_ALIASES = 16384
};

int json_print(struct buf *line, struct err *err)
{
	buf_u8(line, '\n');
	if (line->failed)
		return err_full(err, line->no_memory, "output of more than %zu bytes", line->max);
	fwrite(line->p, 1, line->len, stdout);
	return 0;
}

void json_identity(struct buf *out, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_MAX];

	json_key_cstr(out, "build_id", build_id_hex(id, hex));
	json_key_cstr(out, "build_id_kind",
		      id->kind == BUILD_ID_GNU       ? "gnu"
		      : id->kind == BUILD_ID_HTLHASH ? "htlhash"
						     : "none");
}

/* Puts the start of the function of a frame, and its aliases if they are wanted. */
static int put_json_function(struct buf *out, const struct table_text *text, uint32_t function,
			     bool aliases, struct buf *name, struct err *err)
{
	uint32_t list[LIMIT_JSON_ALIASES], count = 0;
	struct rsym_function f;
	int rc;

	TRY(rsym_function(&text->table, function, &f, err));
	if (f.has_entry)
		json_key_hex(out, "start_address", f.vaddr);
	if (f.start_line)
		json_key_number(out, "start_line", f.start_line);
	if (f.file != RSYM_NONE) {
		TRY(table_text_file(text, f.file, name, err));
		json_key_text(out, "start_file", name->p, name->len);
	}
	buf_reset(name);
	rc = rsym_type(&text->table, function, name, err);
	if (rc < 0)
		return rc;
	if (rc)
		json_key_text(out, "type", name->p, name->len);
	if (!aliases)
		return 0;
	if (f.has_entry)
		count = rsym_function_aliases(&text->table, f.vaddr, list, ARRAY_LEN(list));
	json_key(out, "aliases");
	json_open(out, '[');
	for (uint32_t i = 0; i < count && i < ARRAY_LEN(list); i++) {
		TRY(table_text_name(text, list[i], name, err));
		json_text(out, name->p, name->len);
	}
	json_close(out, ']');
	return 0;
}

static void put_sections(struct buf *out, const struct rsym *t)
{
	struct rsym_section s;

	json_key(out, "sections");
	json_open(out, '[');
	for (uint32_t i = 0; rsym_section(t, i, &s); i++) {
		json_open(out, '{');
		json_key_number(out, "id", s.id);
		json_key_cstr(out, "name", s.name);
		json_key_number(out, "bytes", (int64_t)s.len);
		json_close(out, '}');
	}
	json_close(out, ']');
}

void json_table(struct buf *out, const struct rsym *t)
{
	struct rsym_report report;
	struct rsym_note note;
	char text[24];

	json_identity(out, &t->id);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)t->generation);
	json_key_cstr(out, "generation", text);
	json_key_number(out, "bytes", (int64_t)t->len);
	json_key_number(out, "functions", t->function_count);
	json_key_number(out, "aliases", t->alias_count);
	json_key_number(out, "ranges", (int64_t)t->range_count);
	json_key_number(out, "nodes", (int64_t)t->node_count);
	json_key_number(out, "names", t->names.count);
	json_key_number(out, "files", t->file_count);
	json_key_number(out, "strings", (int64_t)t->names.count + t->file_count);
	json_key_number(out, "segments", t->segment_count);
	json_key_bool(out, "dwarf", t->flags & RSYM_HAS_DWARF);
	json_key_bool(out, "symbols", t->flags & RSYM_HAS_SYMBOLS);
	json_key_bool(out, "kernel", t->flags & RSYM_IS_KERNEL);
	if (t->flags & RSYM_IS_KERNEL)
		json_key_hex(out, "text_base", t->text_base);
	put_sections(out, t);
	if (!rsym_report_read(t, &report))
		return;
	json_key_number(out, "input_bytes", (int64_t)report.input_len);
	json_key_number(out, "units", (int64_t)report.unit_count);
	json_key_number(out, "units_skipped", (int64_t)report.units_skipped);
	json_key_number(out, "inline_nodes", (int64_t)report.inline_count);
	json_key_number(out, "symbols_read", (int64_t)report.symbol_count);
	json_key_number(out, "relocations_skipped", (int64_t)report.relocations_skipped);
	json_key_bool(out, "needs_alt_file", report.needs_alt_file);
	json_key(out, "skipped");
	json_open(out, '[');
	while (rsym_report_next(&report, &note)) {
		json_open(out, '{');
		json_key_cstr(out, "part", note.part);
		json_key_cstr(out, "name", note.name);
		json_key_cstr(out, "why", note.why);
		json_close(out, '}');
	}
	json_close(out, ']');
}

int json_print_frames(const struct table_text *text, uint64_t vaddr,
		      const struct rsym_frame *frames, const uint32_t *discriminators, int count,
		      bool aliases, struct err *err)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_NAME_LEN * 4);
	_cleanup_(buf_done) struct buf out = BUF_INIT(SIZE_MAX / 2);

	json_open(&out, '{');
	json_key_hex(&out, "address", vaddr);
	json_key(&out, "frames");
	json_open(&out, '[');
	for (int i = 0; i < count; i++) {
		json_open(&out, '{');
		TRY(table_text_name(text, frames[i].function, &name, err));
		json_key_text(&out, "function", name.p, name.len);
		TRY(table_text_file(text, frames[i].file, &name, err));
		json_key(&out, "file");
		if (frames[i].file == RSYM_NONE)
			json_null(&out);
		else
			json_text(&out, name.p, name.len);
		json_key_number(&out, "line", frames[i].line);
		if (discriminators) {
			json_key_number(&out, "column", frames[i].column);
			json_key_number(&out, "discriminator", discriminators[i]);
		}
		TRY(put_json_function(&out, text, frames[i].function, aliases && i + 1 == count,
				      &name, err));
		json_close(&out, '}');
	}
	json_close(&out, ']');
	json_close(&out, '}');
	return json_print(&out, err);
}
