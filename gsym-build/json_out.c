/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <jansson.h>
#include <stdio.h>

/* Length of the UTF-8 sequence at p (RFC 3629), 0 when it is none. */
static size_t sequence_len(const uint8_t *p, size_t left)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	uint32_t c = p[0] & (0xffu >> (len + 1));

	if (len == 1)
		return 1;
	if (!len || len > left || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if ((len == 3 && c < 0x800) || (len == 4 && c < 0x10000) || (c >= 0xd800 && c < 0xe000) ||
	    c > 0x10ffff)
		return 0;
	return len;
}

static json_t *json_text(const uint8_t *p, size_t len)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(SIZE_MAX / 2);

	for (size_t i = 0; i < len;) {
		size_t n = sequence_len(p + i, len - i);

		if (n)
			buf_append(&out, p + i, n);
		else
			buf_str(&out, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	return json_stringn(buf_cstr(&out), out.len);
}

static void print(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static json_t *number(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

void json_print_info(const char *path, const struct rsym *t)
{
	json_t *o = json_object();
	char hex[BUILD_ID_HEX_MAX], text[24];

	json_object_set_new(o, "table", json_text((const uint8_t *)path, strlen(path)));
	json_object_set_new(o, "build_id", json_string(build_id_hex(&t->id, hex)));
	json_object_set_new(o, "build_id_kind",
			    json_string(t->id.kind == BUILD_ID_GNU       ? "gnu"
					: t->id.kind == BUILD_ID_HTLHASH ? "htlhash"
									 : "none"));
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)t->generation);
	json_object_set_new(o, "generation", json_string(text));
	json_object_set_new(o, "bytes", number(t->len));
	json_object_set_new(o, "functions", number(t->function_count));
	json_object_set_new(o, "ranges", number(t->range_count));
	json_object_set_new(o, "nodes", number(t->node_count));
	json_object_set_new(o, "files", number(t->file_count));
	json_object_set_new(o, "segments", number(t->segment_count));
	json_object_set_new(o, "dwarf", json_boolean(t->flags & RSYM_HAS_DWARF));
	json_object_set_new(o, "symbols", json_boolean(t->flags & RSYM_HAS_SYMBOLS));
	json_object_set_new(o, "kernel", json_boolean(t->flags & RSYM_IS_KERNEL));
	if (t->flags & RSYM_IS_KERNEL) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)t->text_base);
		json_object_set_new(o, "text_base", json_string(text));
	}
	print(o);
}

int json_print_frames(const struct table_text *text, uint64_t vaddr,
		      const struct rsym_frame *frames, int count, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_NAME_LEN * 4);
	json_t *o = json_object(), *list = json_array();
	char address[24];
	int rc = 0;

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)vaddr);
	json_object_set_new(o, "address", json_string(address));
	for (int i = 0; i < count && !rc; i++) {
		json_t *frame = json_object();

		rc = table_text_name(text, frames[i].function, &out, err);
		json_object_set_new(frame, "function", json_text(out.p, out.len));
		if (!rc)
			rc = table_text_file(text, frames[i].file, &out, err);
		json_object_set_new(frame, "file",
				    frames[i].file == RSYM_NONE ? json_null()
								: json_text(out.p, out.len));
		json_object_set_new(frame, "line", number(frames[i].line));
		json_array_append_new(list, frame);
	}
	json_object_set_new(o, "frames", list);
	if (rc)
		json_decref(o);
	else
		print(o);
	return rc;
}
