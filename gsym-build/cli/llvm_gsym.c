/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm_gsym.h"

#include <stdlib.h>
#include <string.h>

#include "gsym_run.h"
#include "intern.h"

#define GSYM_MAGIC 0x4753594du /* "GSYM" */

enum {
	GSYM_VERSION = 1,
	GSYM_UUID_MAX = 20,
	GSYM_HEADER_LEN = 48,

	/* Kinds of the parts of a function record. */
	INFO_END = 0,
	INFO_LINES = 1,
	INFO_INLINE = 2,

	NAMES_CACHE = 32 << 20,
};

struct export
{
	const struct rsym *t;
	struct rsym_reader *reader;
	struct intern strings;
	struct buf string_bytes; /* of the string table */
	uint32_t *string_off;    /* by string */
	size_t string_cap;
	uint32_t *name_off;         /* by rsym_name_id(); UINT32_MAX until it is written */
	struct buf files;           /* pairs of uint32_t: directory, base */
	struct buf functions;       /* records, each aligned to 4 bytes */
	struct buf starts, offsets; /* arrays of uint64_t and uint32_t, by function */

	struct gsym_run run; /* the current run of addresses */
};

static void export_done(struct export *e)
{
	rsym_reader_free(e->reader);
	intern_done(&e->strings);
	gsym_run_done(&e->run);
	buf_done(&e->string_bytes);
	buf_done(&e->files);
	buf_done(&e->functions);
	buf_done(&e->starts);
	buf_done(&e->offsets);
	free(e->string_off);
	free(e->name_off);
}

static int add_export_string(struct export *e, const void *p, size_t len, uint32_t *ret,
			     struct err *err)
{
	bool is_new;
	uint32_t id = intern_add(&e->strings, p, len, &is_new);

	if (id == INTERN_FULL || !GROW(e->string_off, &e->string_cap, (size_t)id + 1, SIZE_MAX))
		return err_no_memory(err);
	if (is_new) {
		e->string_off[id] = (uint32_t)e->string_bytes.len;
		buf_append(&e->string_bytes, p, len);
		buf_u8(&e->string_bytes, 0);
	}
	*ret = e->string_off[id];
	return 0;
}

static int add_export_name(struct export *e, uint32_t function, uint32_t *ret, struct err *err)
{
	uint32_t *off = &e->name_off[rsym_name_id(e->t, function)];
	const uint8_t *name;
	size_t len;

	if (*off == UINT32_MAX) {
		TRY(rsym_reader_name(e->reader, function, &name, &len, err));
		/* Readers of GSYM treat a function without a name as damage. */
		TRY(add_export_string(e, len ? (const char *)name : "??", len ? len : 2, off, err));
	}
	*ret = *off;
	return 0;
}

static int put_file(struct export *e, const uint8_t *path, size_t len, struct err *err)
{
	const uint8_t *slash = len ? memrchr(path, '/', len) : NULL;
	size_t dir_len = slash ? (size_t)(slash - path) : 0;
	uint32_t dir, base;

	/* The directory of "/file" is "/". */
	TRY(add_export_string(e, path, slash && !dir_len ? 1 : dir_len, &dir, err));
	TRY(add_export_string(e, path + dir_len + (slash != NULL), len - dir_len - (slash != NULL),
			      &base, err));
	buf_u32(&e->files, dir);
	buf_u32(&e->files, base);
	return 0;
}

/* Puts all files of the table in its order, behind the empty entry that means "none". */
static int put_files(struct export *e, struct err *err)
{
	const uint8_t *path;
	size_t len;

	TRY(put_file(e, NULL, 0, err));
	for (uint32_t i = 0; i < e->t->file_count; i++) {
		TRY(rsym_reader_file(e->reader, i, &path, &len, err));
		TRY(put_file(e, path, len, err));
	}
	e->run.unknown_file = e->t->file_count + 1;
	return put_file(e, (const uint8_t *)"??", 2, err);
}

/* Puts a call and all calls in it. The recursion is bounded, because tables are at most
 * LIMIT_INLINE_DEPTH deep. */
static int put_call(struct export *e, uint32_t call, uint64_t base, struct buf *out,
		    struct err *err)
{
	const struct gsym_call *c = &e->run.calls[call];
	uint64_t first = e->run.ranges[c->first_range].start, count = 0;
	uint32_t name;

	TRY(add_export_name(e, c->function, &name, err));
	for (uint32_t r = c->first_range; r != UINT32_MAX; r = e->run.ranges[r].next)
		count++;
	buf_uleb(out, count);
	for (uint32_t r = c->first_range; r != UINT32_MAX; r = e->run.ranges[r].next) {
		buf_uleb(out, e->run.ranges[r].start - base);
		buf_uleb(out, e->run.ranges[r].end - e->run.ranges[r].start);
	}
	buf_u8(out, c->first_child != UINT32_MAX);
	buf_u32(out, name);
	buf_uleb(out, c->call_file);
	buf_uleb(out, c->call_line);
	if (c->first_child == UINT32_MAX)
		return 0;
	for (uint32_t child = c->first_child; child != UINT32_MAX; child = e->run.calls[child].next)
		TRY(put_call(e, child, first, out, err));
	buf_uleb(out, 0); /* a call without ranges ends the children */
	return 0;
}

static void put_u32_at(struct buf *out, size_t at, size_t value)
{
	uint32_t v = (uint32_t)value;

	if (!out->failed)
		memcpy(out->p + at, &v, sizeof(v));
}

/* Puts the record of the current run, and empties the run. */
static int put_run(struct export *e, struct err *err)
{
	struct buf *out = &e->functions;
	uint32_t name;
	size_t at;

	if (!e->run.call_count)
		return 0;
	TRY(add_export_name(e, e->run.calls[0].function, &name, err));
	buf_align(out, 4);
	buf_u64(&e->starts, e->run.start);
	buf_u32(&e->offsets, (uint32_t)out->len);
	buf_u32(out, (uint32_t)(e->run.end - e->run.start));
	buf_u32(out, name);
	if (e->run.has_lines) {
		buf_u32(out, INFO_LINES);
		at = out->len;
		buf_u32(out, 0);
		gsym_run_put_rows(&e->run, out);
		put_u32_at(out, at, out->len - at - 4);
	}
	if (e->run.call_count > 1) {
		buf_u32(out, INFO_INLINE);
		at = out->len;
		buf_u32(out, 0);
		TRY(put_call(e, 0, e->run.start, out, err));
		put_u32_at(out, at, out->len - at - 4);
	}
	buf_u32(out, INFO_END);
	buf_u32(out, 0);
	gsym_run_reset(&e->run);
	return 0;
}

/* Puts all ranges of the table, in order. */
static int put_functions(struct export *e, struct err *err)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint64_t start, end;

	for (uint64_t at = 0;; at = end) {
		int found = rsym_range(e->t, at, &start, &end);
		int count = found ? rsym_lookup(e->t, start, frames, ARRAY_LEN(frames)) : 0;

		if (end <= at && end)
			return err_set(err, ERR_DATA, "damaged table: ranges out of order");
		if (e->run.call_count &&
		    (!count || frames[count - 1].function != e->run.calls[0].function ||
		     end - e->run.start > UINT32_MAX))
			TRY(put_run(e, err));
		if (count)
			TRY(gsym_run_add(&e->run, start, end, frames, count, err));
		if (end == 0 || end == UINT64_MAX)
			break;
	}
	return put_run(e, err);
}

static void put_gsym_header(const struct export *e, size_t address_len, size_t strings_at,
			    struct buf *out)
{
	static const uint8_t zeros[GSYM_UUID_MAX];
	const struct build_id *id = &e->t->id;
	uint8_t id_len = id->len < GSYM_UUID_MAX ? id->len : (uint8_t)GSYM_UUID_MAX;
	uint64_t base;

	memcpy(&base, e->starts.p, sizeof(base));
	buf_u32(out, GSYM_MAGIC);
	buf_u16(out, GSYM_VERSION);
	buf_u8(out, (uint8_t)address_len);
	buf_u8(out, id_len);
	buf_u64(out, base);
	buf_u32(out, (uint32_t)(e->offsets.len / sizeof(uint32_t)));
	buf_u32(out, (uint32_t)strings_at);
	buf_u32(out, (uint32_t)e->string_bytes.len);
	buf_append(out, id->bytes, id_len);
	buf_append(out, zeros, GSYM_UUID_MAX - id_len);
}

static int lay_out_gsym(const struct export *e, struct buf *out, struct err *err)
{
	size_t count = e->offsets.len / sizeof(uint32_t), address_len, strings_at, functions_at;
	uint64_t first, last;

	if (!count)
		return err_set(err, ERR_NOT_FOUND, "the table has no function: nothing to export");
	memcpy(&first, e->starts.p, sizeof(first));
	memcpy(&last, e->starts.p + e->starts.len - sizeof(last), sizeof(last));
	address_len = last - first <= UINT8_MAX    ? 1
		      : last - first <= UINT16_MAX ? 2
		      : last - first <= UINT32_MAX ? 4
						   : 8;
	strings_at =
		(GSYM_HEADER_LEN + count * address_len + 3) / 4 * 4 + count * 4 + 4 + e->files.len;
	functions_at = (strings_at + e->string_bytes.len + 3) / 4 * 4;
	if (functions_at > UINT32_MAX || e->functions.len > UINT32_MAX - functions_at ||
	    e->string_bytes.failed || e->functions.failed || e->files.failed || e->starts.failed ||
	    e->offsets.failed)
		return err_full(err,
				e->string_bytes.no_memory || e->functions.no_memory ||
					e->files.no_memory || e->starts.no_memory ||
					e->offsets.no_memory,
				"it does not fit into the 4 GiB of GSYM");
	put_gsym_header(e, address_len, strings_at, out);
	for (size_t i = 0; i < count; i++) {
		uint64_t start;

		memcpy(&start, e->starts.p + i * sizeof(start), sizeof(start));
		start -= first;
		buf_append(out, &start, address_len);
	}
	buf_align(out, 4);
	for (size_t i = 0; i < count; i++) {
		uint32_t off;

		memcpy(&off, e->offsets.p + i * sizeof(off), sizeof(off));
		buf_u32(out, off + (uint32_t)functions_at);
	}
	buf_u32(out, (uint32_t)(e->files.len / 8));
	buf_append(out, e->files.p, e->files.len);
	buf_append(out, e->string_bytes.p, e->string_bytes.len);
	buf_align(out, 4);
	buf_append(out, e->functions.p, e->functions.len);
	return out->failed ? err_no_memory(err) : 0;
}

int llvm_gsym_write(const struct rsym *t, struct buf *out, struct err *err)
{
	_cleanup_(export_done) struct export e = {
		.t = t,
		.strings = INTERN_INIT(UINT32_MAX - 1, UINT32_MAX),
		.run = GSYM_RUN_INIT,
		.string_bytes = BUF_INIT(UINT32_MAX),
		.files = BUF_INIT(UINT32_MAX),
		.functions = BUF_INIT(UINT32_MAX),
		.starts = BUF_INIT(SIZE_MAX),
		.offsets = BUF_INIT(UINT32_MAX),
	};

	e.reader = rsym_reader_new(t, NAMES_CACHE, err);
	e.name_off = malloc(((size_t)t->function_count + 1) * sizeof(*e.name_off));
	if (!e.reader || !e.name_off)
		return err_no_memory(err);
	memset(e.name_off, 0xff, ((size_t)t->function_count + 1) * sizeof(*e.name_off));
	TRY(put_files(&e, err));
	TRY(put_functions(&e, err));
	return lay_out_gsym(&e, out, err);
}
