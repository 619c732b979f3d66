/* SPDX-License-Identifier: Apache-2.0 */
#include "note_id.h"

#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "io.h"
#include "limits.h"

#define NOTES_PATH "/sys/kernel/notes"

/* Of the gABI, for 64-bit files. <elf.h> is for those who read more of a file than this. */
enum {
	NOTE_GNU_BUILD_ID = 3,
	CLASS_64 = 2,
	FILE_HEADER_LEN = 64,
	FILE_HEADER_PHOFF = 32,
	FILE_HEADER_PHENTSIZE = 54,
	SEGMENT_HEADER_LEN = 56,
	SEGMENT_NOTE = 4,
};

int note_id_find(struct bytes notes, struct build_id *ret)
{
	while (notes.left) {
		uint32_t name_len = bytes_u32(&notes), desc_len = bytes_u32(&notes);
		uint32_t type = bytes_u32(&notes);
		const uint8_t *name = bytes_take(&notes, name_len);
		const uint8_t *desc;

		bytes_skip(&notes, -name_len & 3);
		desc = bytes_take(&notes, desc_len);
		if (notes.failed)
			return 0;
		if (type == NOTE_GNU_BUILD_ID && name_len == 4 && !memcmp(name, "GNU", 4))
			return !build_id_set(ret, BUILD_ID_GNU, desc, desc_len, NULL);
		/* The padding behind the last one may be missing. */
		if (notes.left >= (-desc_len & 3))
			bytes_skip(&notes, -desc_len & 3);
	}
	return 0;
}

static bool read_at(int fd, void *p, size_t len, uint64_t off)
{
	return off <= INT64_MAX && pread(fd, p, len, (off_t)off) == (ssize_t)len;
}

/* Whether a segment of notes has the id; notes has room for LIMIT_NOTES_LEN. */
static bool find_in_segment(int fd, const uint8_t *header, uint8_t *notes, struct build_id *ret)
{
	struct bytes in = bytes_of(header, SEGMENT_HEADER_LEN);
	uint32_t type = bytes_u32(&in);
	uint64_t off, len;

	bytes_skip(&in, 4); /* flags */
	off = bytes_u64(&in);
	bytes_skip(&in, 16); /* addresses */
	len = bytes_u64(&in);
	return type == SEGMENT_NOTE && len <= LIMIT_NOTES_LEN && read_at(fd, notes, len, off) &&
	       note_id_find(bytes_of(notes, len), ret);
}

int note_id_of_file(int fd, struct build_id *ret)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', CLASS_64};
	_cleanup_(freep) uint8_t *notes = NULL;
	uint8_t header[FILE_HEADER_LEN];
	uint64_t phoff, off;
	uint16_t phentsize, phnum;
	struct bytes in;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_at(fd, header, sizeof(header), 0) ||
	    memcmp(header, magic, sizeof(magic)))
		return -1;
	in = bytes_of(header, sizeof(header));
	bytes_skip(&in, FILE_HEADER_PHOFF);
	phoff = bytes_u64(&in);
	bytes_skip(&in, FILE_HEADER_PHENTSIZE - FILE_HEADER_PHOFF - 8);
	phentsize = bytes_u16(&in);
	phnum = bytes_u16(&in);
	notes = malloc(LIMIT_NOTES_LEN);
	if (phentsize != SEGMENT_HEADER_LEN || !notes)
		return -1;
	for (uint16_t i = 0; i < phnum && i < LIMIT_NOTE_SEGMENTS; i++) {
		uint8_t segment[SEGMENT_HEADER_LEN];

		if (!CHECKED_ADD(phoff, (uint64_t)i * sizeof(segment), &off) ||
		    !read_at(fd, segment, sizeof(segment), off))
			return -1;
		if (find_in_segment(fd, segment, notes, ret))
			return 1;
	}
	return 0;
}

int note_id_of_kernel(struct build_id *ret)
{
	_cleanup_(freep) uint8_t *p = NULL;
	size_t len;

	if (io_read_file(NOTES_PATH, LIMIT_NOTES_LEN, &p, &len, NULL))
		return -1;
	return note_id_find(bytes_of(p, len), ret);
}
