/* SPDX-License-Identifier: Apache-2.0 */
#include "file_headers.h"

#include <string.h>

enum {
	IDENT_LEN = 16,
	IDENT_CLASS = 4,
	CLASS_32 = 1,
	CLASS_64 = 2,
	HEADER_MAX = 64, /* the longest of all headers */
};

/* Both classes have the same fields, but for a segment's flags, which stand elsewhere. Addresses,
 * offsets and lengths have 8 bytes in one and 4 in the other. */
static const struct header_layout {
	size_t file_header_len, segment_header_len, section_header_len;
} classes[] = {
	[CLASS_32] = {52, 32, 40},
	[CLASS_64] = {64, 56, 64},
};

static const struct header_layout *class_of(const struct file_headers *h)
{
	return &classes[h->is_64 ? CLASS_64 : CLASS_32];
}

static bool read_header_bytes(int fd, void *p, size_t len, uint64_t off)
{
	return off <= INT64_MAX && pread(fd, p, len, (off_t)off) == (ssize_t)len;
}

static uint64_t read_word(struct bytes *in, bool is_64)
{
	return is_64 ? bytes_u64(in) : bytes_u32(in);
}

int file_headers_read(int fd, struct file_headers *ret)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F'};
	uint8_t header[HEADER_MAX];
	const struct header_layout *class;
	struct bytes in;

	if (!read_header_bytes(fd, header, IDENT_LEN, 0) || memcmp(header, magic, sizeof(magic)) ||
	    (header[IDENT_CLASS] != CLASS_32 && header[IDENT_CLASS] != CLASS_64))
		return -1;
	ret->is_64 = header[IDENT_CLASS] == CLASS_64;
	class = class_of(ret);
	if (!read_header_bytes(fd, header, class->file_header_len, 0))
		return -1;
	in = bytes_of(header, class->file_header_len);
	bytes_skip(&in, IDENT_LEN + 8); /* type, machine, version */
	read_word(&in, ret->is_64);     /* entry */
	ret->segments.off = read_word(&in, ret->is_64);
	ret->sections.off = read_word(&in, ret->is_64);
	bytes_skip(&in, 6); /* flags, length of this header */
	ret->segments.is_usual = bytes_u16(&in) == class->segment_header_len;
	ret->segments.count = bytes_u16(&in);
	ret->sections.is_usual = bytes_u16(&in) == class->section_header_len;
	ret->sections.count = bytes_u16(&in);
	return 0;
}

static bool read_entry(int fd, const struct file_header_table *t, uint16_t i, size_t len,
		       uint8_t header[static HEADER_MAX])
{
	uint64_t at;

	return t->is_usual && CHECKED_ADD(t->off, (uint64_t)i * len, &at) &&
	       read_header_bytes(fd, header, len, at);
}

int file_headers_segment(int fd, const struct file_headers *h, uint16_t i, struct file_header *ret)
{
	const size_t len = class_of(h)->segment_header_len;
	uint8_t header[HEADER_MAX];
	struct bytes in;

	if (!read_entry(fd, &h->segments, i, len, header))
		return -1;
	in = bytes_of(header, len);
	ret->type = bytes_u32(&in);
	ret->flags = h->is_64 ? bytes_u32(&in) : 0;
	ret->off = read_word(&in, h->is_64);
	ret->vaddr = read_word(&in, h->is_64);
	read_word(&in, h->is_64); /* physical address */
	ret->len = read_word(&in, h->is_64);
	if (!h->is_64) {
		bytes_skip(&in, 4); /* length in memory */
		ret->flags = bytes_u32(&in);
	}
	return 0;
}

int file_headers_section(int fd, const struct file_headers *h, uint16_t i, struct file_header *ret)
{
	const size_t len = class_of(h)->section_header_len;
	uint8_t header[HEADER_MAX];
	struct bytes in;

	if (!read_entry(fd, &h->sections, i, len, header))
		return -1;
	in = bytes_of(header, len);
	bytes_skip(&in, 4); /* name */
	ret->type = bytes_u32(&in);
	ret->flags = read_word(&in, h->is_64);
	ret->vaddr = read_word(&in, h->is_64);
	ret->off = read_word(&in, h->is_64);
	ret->len = read_word(&in, h->is_64);
	return 0;
}

/* They stand in order of address, which is nearly always that of the file, too. */
static void insert_segment(struct file_segments *to, const struct file_header *from)
{
	uint32_t at = to->count++;

	for (; at && to->rows[at - 1].file_off > from->off; at--)
		to->rows[at] = to->rows[at - 1];
	to->rows[at] = (struct file_segment){from->off, from->vaddr, from->len};
}

int file_headers_code_segments(int fd, struct file_segments *ret)
{
	struct file_headers h;
	struct file_header s;

	ret->count = ret->reserved = 0;
	if (file_headers_read(fd, &h))
		return -1;
	for (uint16_t i = 0; i < h.segments.count && i < LIMIT_NOTE_HEADERS; i++) {
		if (file_headers_segment(fd, &h, i, &s))
			goto none;
		if (s.type != ELF_SEGMENT_LOAD || !(s.flags & ELF_SEGMENT_EXECUTABLE) || !s.len)
			continue;
		if (ret->count == LIMIT_FILE_SEGMENTS)
			goto none;
		insert_segment(ret, &s);
	}
	if (ret->count && !file_segments_check(ret->rows, ret->count, NULL))
		return 0;
none:
	ret->count = 0;
	return -1;
}
