/* SPDX-License-Identifier: Apache-2.0 */
#include "gsym_run.h"

#include <stdlib.h>

enum {
	/* Operations of a line table. Those from LINE_SPECIAL on advance address and line in one
	 * byte, which suffices for nine in ten rows of -O2 code. */
	LINE_END = 0,
	LINE_FILE = 1,
	LINE_PC = 2,
	LINE_LINE = 3,
	LINE_SPECIAL = 4,
	LINE_DELTA_MIN = -6,
	LINE_DELTA_MAX = 11,
	LINE_RANGE = LINE_DELTA_MAX - LINE_DELTA_MIN + 1,

	/* GSYM counts files from 1; 0 is none. */
	FILE_NONE = 0,
};

/* The key of a call. Calls with equal keys are the same call. */
struct call_key {
	uint32_t parent, function, file, line;
};

void gsym_run_done(struct gsym_run *r)
{
	intern_done(&r->keys);
	free(r->calls);
	free(r->ranges);
	free(r->rows);
}

void gsym_run_reset(struct gsym_run *r)
{
	intern_reset(&r->keys);
	r->call_count = r->range_count = r->row_count = 0;
	r->has_lines = false;
}

static uint32_t new_call(struct gsym_run *r, uint32_t function, uint32_t file, uint32_t line)
{
	if (!GROW(r->calls, &r->calls_cap, r->call_count + 1, UINT32_MAX - 1))
		return UINT32_MAX;
	r->calls[r->call_count] = (struct gsym_call){.function = function,
						     .call_file = file,
						     .call_line = line,
						     .first_child = UINT32_MAX,
						     .last_child = UINT32_MAX,
						     .next = UINT32_MAX,
						     .first_range = UINT32_MAX,
						     .last_range = UINT32_MAX};
	return (uint32_t)r->call_count++;
}

/* Returns the call of a function in a parent, which is added if it is new, or UINT32_MAX if memory
 * is out. */
static uint32_t call_in(struct gsym_run *r, uint32_t parent, uint32_t function, uint32_t file,
			uint32_t line)
{
	struct call_key key = {.parent = parent, .function = function, .file = file, .line = line};
	bool is_new;
	uint32_t id = intern_add(&r->keys, &key, sizeof(key), &is_new), call;

	if (id == INTERN_FULL)
		return UINT32_MAX;
	if (!is_new)
		return id + 1; /* the root has no key */
	call = new_call(r, function, file, line);
	if (call == UINT32_MAX)
		return call;
	if (r->calls[parent].last_child == UINT32_MAX)
		r->calls[parent].first_child = call;
	else
		r->calls[r->calls[parent].last_child].next = call;
	r->calls[parent].last_child = call;
	return call;
}

static bool cover_range(struct gsym_run *r, uint32_t call, uint64_t start, uint64_t end)
{
	struct gsym_call *c = &r->calls[call];

	if (c->last_range != UINT32_MAX && r->ranges[c->last_range].end == start) {
		r->ranges[c->last_range].end = end;
		return true;
	}
	if (!GROW(r->ranges, &r->ranges_cap, r->range_count + 1, UINT32_MAX - 1))
		return false;
	r->ranges[r->range_count] =
		(struct gsym_range){.start = start, .end = end, .next = UINT32_MAX};
	if (c->last_range == UINT32_MAX)
		c->first_range = (uint32_t)r->range_count;
	else
		r->ranges[c->last_range].next = (uint32_t)r->range_count;
	c->last_range = (uint32_t)r->range_count++;
	return true;
}

static uint32_t file_number(uint32_t file)
{
	return file == RSYM_NONE ? FILE_NONE : file + 1;
}

int gsym_run_add(struct gsym_run *r, uint64_t start, uint64_t end, const struct rsym_frame *frames,
		 int count, struct err *err)
{
	uint32_t at = 0;

	if (end - start > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "a range of 4 GiB at 0x%llx: too long for GSYM",
			       (unsigned long long)start);
	if (!r->call_count)
		r->start = start;
	if (!r->call_count && new_call(r, frames[count - 1].function, FILE_NONE, 0) == UINT32_MAX)
		return err_no_memory(err);
	if (!cover_range(r, 0, start, end))
		return err_no_memory(err);
	for (int i = count - 2; i >= 0; i--) {
		uint32_t file = file_number(frames[i + 1].file);

		at = call_in(r, at, frames[i].function, file ? file : r->unknown_file,
			     frames[i + 1].line);
		if (at == UINT32_MAX || !cover_range(r, at, start, end))
			return err_no_memory(err);
	}
	if (!GROW(r->rows, &r->rows_cap, r->row_count + 1, SIZE_MAX))
		return err_no_memory(err);
	r->rows[r->row_count++] = (struct gsym_row){
		.start = start, .file = file_number(frames[0].file), .line = frames[0].line};
	r->has_lines |= frames[0].file != RSYM_NONE || frames[0].line || count > 1;
	r->end = end;
	return 0;
}

void gsym_run_put_rows(const struct gsym_run *r, struct buf *out)
{
	uint64_t at = r->start;
	uint32_t file = 1, line = r->rows[0].line;

	buf_sleb(out, LINE_DELTA_MIN);
	buf_sleb(out, LINE_DELTA_MAX);
	buf_uleb(out, line);
	for (size_t i = 0; i < r->row_count; i++) {
		const struct gsym_row *row = &r->rows[i];
		int64_t delta = (int64_t)row->line - (int64_t)line;
		uint64_t step = row->start - at;

		if (i && row->file == row[-1].file && row->line == row[-1].line)
			continue; /* only the inlined call differs, which line rows do not record */
		if (row->file != file) {
			buf_u8(out, LINE_FILE);
			buf_uleb(out, row->file);
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
		at = row->start;
		file = row->file;
		line = row->line;
	}
	buf_u8(out, LINE_END);
}
