/* SPDX-License-Identifier: Apache-2.0 */
#include "file_segments.h"

static int segment_wrong(struct err *err, size_t at, const char *what)
{
	return err_set(err, ERR_DATA, "segment %zu %s", at, what);
}

/* Returns whether two ranges overlap. Neither of them overflows. */
static bool ranges_overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

int file_segments_check(const struct file_segment *rows, size_t count, struct err *err)
{
	uint64_t end;

	if (count > LIMIT_FILE_SEGMENTS)
		return err_set(err, ERR_DATA, "%zu segments, at most %llu", count,
			       (unsigned long long)LIMIT_FILE_SEGMENTS);
	for (size_t i = 0; i < count; i++) {
		const struct file_segment *s = &rows[i];

		if (!s->len)
			return segment_wrong(err, i, "is empty");
		if (!CHECKED_ADD(s->file_off, s->len, &end) || !CHECKED_ADD(s->vaddr, s->len, &end))
			return segment_wrong(err, i, "does not end below 2^64");
		if (i && s->file_off < s[-1].file_off)
			return segment_wrong(err, i, "begins before the one in front of it");
		for (size_t k = 0; k < i; k++)
			if (ranges_overlap(s->file_off, s->len, rows[k].file_off, rows[k].len) ||
			    ranges_overlap(s->vaddr, s->len, rows[k].vaddr, rows[k].len))
				return segment_wrong(err, i, "overlaps another one");
	}
	return 0;
}

int file_segments_vaddr(const struct file_segment *rows, size_t count, uint64_t file_off,
			uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < count; i++) {
		if (file_off < rows[i].file_off || file_off - rows[i].file_off >= rows[i].len)
			continue;
		*ret_vaddr = rows[i].vaddr + (file_off - rows[i].file_off);
		return 1;
	}
	return 0;
}

uint64_t file_segments_hash(const struct file_segment *rows, size_t count, uint64_t seed)
{
	/* The finalizer of a 64-bit hash: multiply and fold, once for each word. */
	uint64_t h = seed ^ UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < count; i++) {
		const uint64_t words[] = {rows[i].file_off, rows[i].vaddr, rows[i].len};

		for (size_t k = 0; k < ARRAY_LEN(words); k++) {
			h = (h ^ words[k]) * UINT64_C(0xff51afd7ed558ccd);
			h ^= h >> 32;
		}
	}
	return h ? h : 1;
}

void file_segments_put(struct buf *b, const struct file_segment *rows, size_t count)
{
	buf_uleb(b, count);
	for (size_t i = 0; i < count; i++) {
		buf_uleb(b, rows[i].file_off);
		buf_uleb(b, rows[i].vaddr);
		buf_uleb(b, rows[i].len);
	}
}

int file_segments_get(struct bytes *in, struct file_segments *ret)
{
	uint64_t count = bytes_uleb(in);

	ret->count = ret->reserved = 0;
	if (count > LIMIT_FILE_SEGMENTS)
		bytes_fail(in);
	for (uint64_t i = 0; i < count && !in->failed; i++) {
		ret->rows[i].file_off = bytes_uleb(in);
		ret->rows[i].vaddr = bytes_uleb(in);
		ret->rows[i].len = bytes_uleb(in);
	}
	if (in->failed || file_segments_check(ret->rows, count, NULL))
		return -1;
	ret->count = (uint32_t)count;
	return 0;
}
