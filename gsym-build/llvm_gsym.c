/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm_gsym.h"

#include <stdlib.h>
#include <string.h>

#include "intern.h"

#define GSYM_MAGIC 0x4753594du /* "GSYM" */

enum {
	GSYM_VERSION = 1,
	GSYM_UUID_MAX = 20,
	GSYM_HEADER_LEN = 48,

	/* Kinds of what belongs to a function. */
	INFO_END = 0,
	INFO_LINES = 1,
	INFO_INLINE = 2,

	/* Operations of a line table. Those from LINE_SPECIAL on advance address and line in one
	 * byte: in -O2 code nine of ten rows are at most this far from each other. */
	LINE_END = 0,
	LINE_FILE = 1,
	LINE_PC = 2,
	LINE_LINE = 3,
	LINE_SPECIAL = 4,
	LINE_DELTA_MIN = -6,
	LINE_DELTA_MAX = 11,
	LINE_RANGE = LINE_DELTA_MAX - LINE_DELTA_MIN + 1,

	NAMES_CACHE = 32 << 20,
};

/* GSYM counts files from 1; 0 is none. */
enum {
	FILE_NONE = 0
};

/* An inlined call, or the function at its root, in a run of addresses. */
struct call {
	uint32_t function, call_file, call_line;
	uint32_t first_child, last_child, next; /* UINT32_MAX: none */
	uint32_t first_range, last_range;
};

struct range {
	uint64_t start, end;
	uint32_t next; /* of the same call; UINT32_MAX: none */
};

struct row {
	uint64_t start;
	uint32_t file, line;
};

/* What makes a call the same as another one. */
struct call_key {
	uint32_t parent, function, file, line;
};

struct export
{
	const struct rsym *t;
	struct rsym_reader *reader;
	struct intern strings;
	struct buf string_bytes; /* of the string table */
	uint32_t *string_off;    /* by string */
	size_t string_cap;
	uint32_t *name_off; /* by rsym_name_id(); UINT32_MAX: not written yet */
	uint32_t unknown_file;
	struct buf files;           /* u32 pairs: directory, base */
	struct buf functions;       /* records, each on a multiple of 4 */
	struct buf starts, offsets; /* uint64_t, uint32_t: by function */

	/* The run of addresses at hand. */
	uint64_t start, end;
	struct intern keys; /* struct call_key -> call, but for the root */
	struct call *calls;
	struct range *ranges;
	struct row *rows;
	size_t call_count, calls_cap, range_count, ranges_cap, row_count, rows_cap;
	bool has_lines;
};

static void export_done(struct export *e)
{
	rsym_reader_free(e->reader);
	intern_done(&e->strings);
	intern_done(&e->keys);
	buf_done(&e->string_bytes);
	buf_done(&e->files);
	buf_done(&e->functions);
	buf_done(&e->starts);
	buf_done(&e->offsets);
	free(e->string_off);
	free(e->name_off);
	free(e->calls);
	free(e->ranges);
	free(e->rows);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory");
}

static int string_at(struct export *e, const void *p, size_t len, uint32_t *ret, struct err *err)
{
	bool is_new;
	uint32_t id = intern_add(&e->strings, p, len, &is_new);

	if (id == INTERN_FULL || !grow_array((void **)&e->string_off, &e->string_cap,
					     (size_t)id + 1, sizeof(*e->string_off), SIZE_MAX))
		return no_memory(err);
	if (is_new) {
		e->string_off[id] = (uint32_t)e->string_bytes.len;
		buf_append(&e->string_bytes, p, len);
		buf_u8(&e->string_bytes, 0);
	}
	*ret = e->string_off[id];
	return 0;
}

static int name_at(struct export *e, uint32_t function, uint32_t *ret, struct err *err)
{
	uint32_t *off = &e->name_off[rsym_name_id(e->t, function)];
	const uint8_t *name;
	size_t len;
	int rc = 0;

	if (*off == UINT32_MAX) {
		rc = rsym_reader_name(e->reader, function, &name, &len, err);
		/* To its readers a function without a name is damage. */
		if (!rc)
			rc = len ? string_at(e, name, len, off, err)
				 : string_at(e, "??", 2, off, err);
	}
	*ret = *off;
	return rc;
}

static int put_file(struct export *e, const uint8_t *path, size_t len, struct err *err)
{
	const uint8_t *slash = len ? memrchr(path, '/', len) : NULL;
	size_t dir_len = slash ? (size_t)(slash - path) : 0;
	uint32_t dir, base;
	/* The directory of "/file" is "/". */
	int rc = string_at(e, path, slash && !dir_len ? 1 : dir_len, &dir, err);

	if (!rc)
		rc = string_at(e, path + dir_len + (slash != NULL), len - dir_len - (slash != NULL),
			       &base, err);
	if (rc)
		return rc;
	buf_u32(&e->files, dir);
	buf_u32(&e->files, base);
	return 0;
}

/* All files of the table, in its order, behind the one that is none. */
static int put_files(struct export *e, struct err *err)
{
	const uint8_t *path;
	size_t len;
	int rc = put_file(e, NULL, 0, err);

	for (uint32_t i = 0; i < e->t->file_count && !rc; i++) {
		rc = rsym_reader_file(e->reader, i, &path, &len, err);
		if (!rc)
			rc = put_file(e, path, len, err);
	}
	e->unknown_file = e->t->file_count + 1;
	return rc ? rc : put_file(e, (const uint8_t *)"??", 2, err);
}

static uint32_t new_call(struct export *e, uint32_t function, uint32_t file, uint32_t line)
{
	if (!grow_array((void **)&e->calls, &e->calls_cap, e->call_count + 1, sizeof(*e->calls),
			UINT32_MAX - 1))
		return UINT32_MAX;
	e->calls[e->call_count] = (struct call){.function = function,
						.call_file = file,
						.call_line = line,
						.first_child = UINT32_MAX,
						.last_child = UINT32_MAX,
						.next = UINT32_MAX,
						.first_range = UINT32_MAX,
						.last_range = UINT32_MAX};
	return (uint32_t)e->call_count++;
}

/* The call of a function in a parent, made when it is new. */
static uint32_t call_in(struct export *e, uint32_t parent, uint32_t function, uint32_t file,
			uint32_t line)
{
	struct call_key key = {.parent = parent, .function = function, .file = file, .line = line};
	bool is_new;
	uint32_t id = intern_add(&e->keys, &key, sizeof(key), &is_new), call;

	if (id == INTERN_FULL)
		return UINT32_MAX;
	if (!is_new)
		return id + 1; /* the root has no key */
	call = new_call(e, function, file, line);
	if (call == UINT32_MAX)
		return call;
	if (e->calls[parent].last_child == UINT32_MAX)
		e->calls[parent].first_child = call;
	else
		e->calls[e->calls[parent].last_child].next = call;
	e->calls[parent].last_child = call;
	return call;
}

static bool cover(struct export *e, uint32_t call, uint64_t start, uint64_t end)
{
	struct call *c = &e->calls[call];

	if (c->last_range != UINT32_MAX && e->ranges[c->last_range].end == start) {
		e->ranges[c->last_range].end = end;
		return true;
	}
	if (!grow_array((void **)&e->ranges, &e->ranges_cap, e->range_count + 1, sizeof(*e->ranges),
			UINT32_MAX - 1))
		return false;
	e->ranges[e->range_count] = (struct range){.start = start, .end = end, .next = UINT32_MAX};
	if (c->last_range == UINT32_MAX)
		c->first_range = (uint32_t)e->range_count;
	else
		e->ranges[c->last_range].next = (uint32_t)e->range_count;
	c->last_range = (uint32_t)e->range_count++;
	return true;
}

static uint32_t file_number(uint32_t file)
{
	return file == RSYM_NONE ? FILE_NONE : file + 1;
}

/* Adds [start, end) to the run. */
static int add_range(struct export *e, uint64_t start, uint64_t end,
		     const struct rsym_frame *frames, int count, struct err *err)
{
	uint32_t at = 0;

	if (end - start > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "a range of 4 GiB at 0x%llx: too long for GSYM",
			       (unsigned long long)start);
	if (!e->call_count && new_call(e, frames[count - 1].function, FILE_NONE, 0) == UINT32_MAX)
		return no_memory(err);
	if (!cover(e, 0, start, end))
		return no_memory(err);
	for (int i = count - 2; i >= 0; i--) {
		uint32_t file = file_number(frames[i + 1].file);

		at = call_in(e, at, frames[i].function, file ? file : e->unknown_file,
			     frames[i + 1].line);
		if (at == UINT32_MAX || !cover(e, at, start, end))
			return no_memory(err);
	}
	if (!grow_array((void **)&e->rows, &e->rows_cap, e->row_count + 1, sizeof(*e->rows),
			SIZE_MAX))
		return no_memory(err);
	e->rows[e->row_count++] = (struct row){
		.start = start, .file = file_number(frames[0].file), .line = frames[0].line};
	e->has_lines |= frames[0].file != RSYM_NONE || frames[0].line || count > 1;
	e->end = end;
	return 0;
}

static void put_rows(const struct export *e, struct buf *out)
{
	uint64_t at = e->start;
	uint32_t file = 1, line = e->rows[0].line;

	buf_sleb(out, LINE_DELTA_MIN);
	buf_sleb(out, LINE_DELTA_MAX);
	buf_uleb(out, line);
	for (size_t i = 0; i < e->row_count; i++) {
		const struct row *r = &e->rows[i];
		int64_t delta = (int64_t)r->line - (int64_t)line;
		uint64_t step = r->start - at;

		if (i && r->file == r[-1].file && r->line == r[-1].line)
			continue; /* only the call differs */
		if (r->file != file) {
			buf_u8(out, LINE_FILE);
			buf_uleb(out, r->file);
		}
		if (delta < LINE_DELTA_MIN || delta > LINE_DELTA_MAX) {
			buf_u8(out, LINE_LINE);
			buf_sleb(out, delta);
			delta = 0;
		}
		if (step <= (UINT8_MAX - LINE_SPECIAL) / LINE_RANGE - 1) {
			buf_u8(out, (uint8_t)(LINE_SPECIAL + (delta - LINE_DELTA_MIN) +
					      LINE_RANGE * (int64_t)step));
		} else {
			if (delta) {
				buf_u8(out, LINE_LINE);
				buf_sleb(out, delta);
			}
			buf_u8(out, LINE_PC);
			buf_uleb(out, step);
		}
		at = r->start;
		file = r->file;
		line = r->line;
	}
	buf_u8(out, LINE_END);
}

/* A call and all in it; at most LIMIT_INLINE_DEPTH deep, as its table is. */
static int put_call(struct export *e, uint32_t call, uint64_t base, struct buf *out,
		    struct err *err)
{
	const struct call *c = &e->calls[call];
	uint64_t first = e->ranges[c->first_range].start, count = 0;
	uint32_t name;
	int rc = name_at(e, c->function, &name, err);

	if (rc)
		return rc;
	for (uint32_t r = c->first_range; r != UINT32_MAX; r = e->ranges[r].next)
		count++;
	buf_uleb(out, count);
	for (uint32_t r = c->first_range; r != UINT32_MAX; r = e->ranges[r].next) {
		buf_uleb(out, e->ranges[r].start - base);
		buf_uleb(out, e->ranges[r].end - e->ranges[r].start);
	}
	buf_u8(out, c->first_child != UINT32_MAX);
	buf_u32(out, name);
	buf_uleb(out, c->call_file);
	buf_uleb(out, c->call_line);
	if (c->first_child == UINT32_MAX)
		return 0;
	for (uint32_t child = c->first_child; child != UINT32_MAX && !rc;
	     child = e->calls[child].next)
		rc = put_call(e, child, first, out, err);
	buf_uleb(out, 0); /* no ranges: the end of the children */
	return rc;
}

static void put_u32_at(struct buf *out, size_t at, size_t value)
{
	uint32_t v = (uint32_t)value;

	if (!out->failed)
		memcpy(out->p + at, &v, sizeof(v));
}

/* The record of the run at hand, which is then empty. */
static int put_run(struct export *e, struct err *err)
{
	struct buf *out = &e->functions;
	uint32_t name;
	size_t at;
	int rc;

	if (!e->call_count)
		return 0;
	rc = name_at(e, e->calls[0].function, &name, err);
	if (rc)
		return rc;
	buf_align(out, 4);
	buf_u64(&e->starts, e->start);
	buf_u32(&e->offsets, (uint32_t)out->len);
	buf_u32(out, (uint32_t)(e->end - e->start));
	buf_u32(out, name);
	if (e->has_lines) {
		buf_u32(out, INFO_LINES);
		at = out->len;
		buf_u32(out, 0);
		put_rows(e, out);
		put_u32_at(out, at, out->len - at - 4);
	}
	if (e->call_count > 1) {
		buf_u32(out, INFO_INLINE);
		at = out->len;
		buf_u32(out, 0);
		rc = put_call(e, 0, e->start, out, err);
		put_u32_at(out, at, out->len - at - 4);
	}
	buf_u32(out, INFO_END);
	buf_u32(out, 0);
	intern_reset(&e->keys);
	e->call_count = e->range_count = e->row_count = 0;
	e->has_lines = false;
	return rc;
}

/* All ranges of the table, in order. */
static int put_functions(struct export *e, struct err *err)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint64_t start, end;
	int rc = 0;

	for (uint64_t at = 0; !rc; at = end) {
		int found = rsym_range(e->t, at, &start, &end);
		int count = found ? rsym_lookup(e->t, start, frames, ARRAY_LEN(frames)) : 0;

		if (end <= at && end)
			return err_set(err, ERR_DATA, "damaged table: ranges out of order");
		if (e->call_count &&
		    (!count || frames[count - 1].function != e->calls[0].function ||
		     end - e->start > UINT32_MAX))
			rc = put_run(e, err);
		if (count && !rc) {
			if (!e->call_count)
				e->start = start;
			rc = add_range(e, start, end, frames, count, err);
		}
		if (end == 0 || end == UINT64_MAX)
			break;
	}
	return rc ? rc : put_run(e, err);
}

static void put_header(const struct export *e, size_t address_len, size_t strings_at,
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

static int lay_out(const struct export *e, struct buf *out, struct err *err)
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
		return err_set(err, ERR_LIMIT, "it does not fit into the 4 GiB of GSYM, or memory");
	put_header(e, address_len, strings_at, out);
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
	return out->failed ? no_memory(err) : 0;
}

int llvm_gsym_write(const struct rsym *t, struct buf *out, struct err *err)
{
	_cleanup_(export_done) struct export e = {
		.t = t,
		.strings = INTERN_INIT(UINT32_MAX - 1, UINT32_MAX),
		.keys = INTERN_INIT(UINT32_MAX - 2, SIZE_MAX),
		.string_bytes = BUF_INIT(UINT32_MAX),
		.files = BUF_INIT(UINT32_MAX),
		.functions = BUF_INIT(UINT32_MAX),
		.starts = BUF_INIT(SIZE_MAX),
		.offsets = BUF_INIT(UINT32_MAX),
	};
	int rc;

	e.reader = rsym_reader_new(t, NAMES_CACHE, err);
	e.name_off = malloc(((size_t)t->function_count + 1) * sizeof(*e.name_off));
	if (!e.reader || !e.name_off)
		return no_memory(err);
	memset(e.name_off, 0xff, ((size_t)t->function_count + 1) * sizeof(*e.name_off));
	rc = put_files(&e, err);
	if (!rc)
		rc = put_functions(&e, err);
	return rc ? rc : lay_out(&e, out, err);
}
