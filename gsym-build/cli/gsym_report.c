/* SPDX-License-Identifier: Apache-2.0 */
#include "gsym_report.h"

#include <stdio.h>

#include "json.h"
#include "json_out.h"
#include "limits.h"
#include "log.h"

void gsym_report_print(const struct gsym_outcome *o)
{
	const struct build_report *r = o->report;
	const char *path = o->output;
	char hex[BUILD_ID_HEX_MAX];

	printf("%s: %llu bytes, build id %s%s, %llu functions, %llu ranges, %llu inlined calls, "
	       "%llu files; %llu units read",
	       path, (unsigned long long)r->table_len, build_id_hex(&r->id, hex),
	       r->id.kind == BUILD_ID_HTLHASH ? " (hash)" : "",
	       (unsigned long long)r->function_count, (unsigned long long)r->range_count,
	       (unsigned long long)r->inline_count, (unsigned long long)r->file_count,
	       (unsigned long long)r->unit_count);
	printf(", %llu symbols; %.2f s of CPU, %.0f MB\n", (unsigned long long)r->symbol_count,
	       (double)r->cpu_ns / 1e9, (double)r->peak_memory / 1048576);
	if (r->units_skipped)
		log_warn("%s: %llu units skipped; the first: %s%s", path,
			 (unsigned long long)r->units_skipped, r->skipped,
			 r->units_skipped > 1 ? "; --report json names all" : "");
	else if (r->skipped[0])
		log_warn("%s: not all could be read: %s", path, r->skipped);
	if (r->relocations_skipped)
		log_warn("%s: %llu relocations not applied; the first: %s", path,
			 (unsigned long long)r->relocations_skipped, r->relocation_skipped);
	if (r->needs_alt_file)
		log_warn("%s: some names lie in a dwz file (.gnu_debugaltlink), which is not there",
			 path);
}

static void key_seconds(struct buf *out, const char *key, uint64_t ns)
{
	json_key(out, key);
	buf_printf(out, "%llu.%06llu", (unsigned long long)ns / 1000000000u,
		   (unsigned long long)ns % 1000000000u / 1000u);
}

static void put_one(struct buf *out, const char *kind, const char *name, size_t name_len,
		    const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_MAX];

	json_open(out, '{');
	json_key_cstr(out, "kind", kind);
	json_key_text(out, "name", name, name_len);
	if (dir)
		json_key_cstr(out, "directory", dir);
	if (id)
		json_key_cstr(out, "build_id", build_id_hex(id, hex));
	json_close(out, '}');
}

/* Puts the files that the input refers to and that were not found. */
static void put_missing(struct buf *out, struct bytes missing)
{
	uint32_t link_len = bytes_u32(&missing);
	struct bytes link = bytes_of(bytes_take(&missing, link_len), 0);
	size_t len;

	json_key(out, "missing");
	json_open(out, '[');
	link.left = missing.failed ? 0 : link_len;
	if (link.left) {
		struct build_id id = {.kind = BUILD_ID_GNU};
		const char *name = bytes_cstr(&link, &len);
		bool has_id = name && link.left >= 2 && link.left <= sizeof(id.bytes);

		if (has_id) {
			memcpy(id.bytes, link.p, link.left);
			id.len = (uint8_t)link.left;
		}
		if (name)
			put_one(out, "alt", name, len, NULL, has_id ? &id : NULL);
	}
	while (missing.left) {
		const char *dir = bytes_cstr(&missing, &len);
		const char *name = bytes_cstr(&missing, &len);

		if (dir && name)
			put_one(out, "dwo", name, len, dir, NULL);
	}
	json_close(out, ']');
}

int gsym_report_print_json(const struct gsym_outcome *o, struct err *err)
{
	_cleanup_(table_text_close) struct table_text text = {0};
	_cleanup_(buf_done) struct buf out = BUF_INIT(SIZE_MAX / 2);
	const struct build_report *r = o->report;

	json_open(&out, '{');
	json_key_cstr(&out, "file", o->input);
	json_key_bool(&out, "ok", !o->failed);
	if (o->failed) {
		json_key_cstr(&out, "error", o->failed->message);
	} else {
		json_key_cstr(&out, "table", o->output);
		TRY(table_text_open(&text, o->output, err));
		json_table(&out, &text.table);
		json_key_bool(&out, "has_segments", r->has_segments);
		json_key_cstr(&out, "relocation_skipped", r->relocation_skipped);
		put_missing(&out, o->missing);
	}
	key_seconds(&out, "cpu_seconds", r->cpu_ns);
	key_seconds(&out, "wall_seconds", r->wall_ns);
	json_key_number(&out, "peak_memory_bytes", (int64_t)r->peak_memory);
	json_close(&out, '}');
	return json_print(&out, err);
}
