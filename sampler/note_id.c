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
	SECTION_HEADER_LEN = 64,
	SECTION_NOTE = 7,
};

/* Where the headers of segments, or of sections, are. */
struct headers {
	uint64_t off;
	uint16_t entry_len, count;
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

/* Where the notes of a segment, or of a section, are; false: it holds none. */
static bool notes_of(struct bytes header, bool of_section, uint64_t *ret_off, uint64_t *ret_len)
{
	uint32_t type;

	bytes_skip(&header, of_section ? 4 : 0); /* name */
	type = bytes_u32(&header);
	bytes_skip(&header, of_section ? 16 : 4); /* flags, address */
	*ret_off = bytes_u64(&header);
	bytes_skip(&header, of_section ? 0 : 16); /* addresses */
	*ret_len = bytes_u64(&header);
	return type == (of_section ? SECTION_NOTE : SEGMENT_NOTE);
}

/* 1 and *ret, 0, or -1 when a header cannot be read; notes has room for LIMIT_NOTES_LEN. */
static int find_by_headers(int fd, const struct headers *h, bool of_sections, uint8_t *notes,
			   struct build_id *ret)
{
	const size_t want = of_sections ? SECTION_HEADER_LEN : SEGMENT_HEADER_LEN;

	if (h->entry_len != want)
		return 0;
	for (uint16_t i = 0; i < h->count && i < LIMIT_NOTE_HEADERS; i++) {
		uint8_t header[SECTION_HEADER_LEN];
		uint64_t at, off, len;

		if (!CHECKED_ADD(h->off, (uint64_t)i * want, &at) || !read_at(fd, header, want, at))
			return -1;
		if (notes_of(bytes_of(header, want), of_sections, &off, &len) &&
		    len <= LIMIT_NOTES_LEN && read_at(fd, notes, len, off) &&
		    note_id_find(bytes_of(notes, len), ret))
			return 1;
	}
	return 0;
}

/* Go's linker leaves the section of the GNU build id out of every segment of notes, so that the
 * kernel does not see it; the sections of a stripped file still lead to it. */
static int find_in_file(int fd, uint8_t *notes, struct build_id *ret)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', CLASS_64};
	uint8_t header[FILE_HEADER_LEN];
	struct headers segments, sections;
	struct bytes in;
	int rc;

	if (!read_at(fd, header, sizeof(header), 0) || memcmp(header, magic, sizeof(magic)))
		return -1;
	in = bytes_of(header, sizeof(header));
	bytes_skip(&in, FILE_HEADER_PHOFF);
	segments.off = bytes_u64(&in);
	sections.off = bytes_u64(&in);
	bytes_skip(&in, FILE_HEADER_PHENTSIZE - FILE_HEADER_PHOFF - 16);
	segments.entry_len = bytes_u16(&in);
	segments.count = bytes_u16(&in);
	sections.entry_len = bytes_u16(&in);
	sections.count = bytes_u16(&in);
	if (segments.entry_len != SEGMENT_HEADER_LEN)
		return -1;
	rc = find_by_headers(fd, &segments, false, notes, ret);
	if (rc || !sections.off)
		return rc;
	/* What is mapped needs no sections: headers that cannot be read are none. */
	return find_by_headers(fd, &sections, true, notes, ret) == 1;
}

int note_id_of_file(int fd, struct build_id *ret)
{
	_cleanup_(freep) uint8_t *notes = malloc(LIMIT_NOTES_LEN);
	struct stat st;

	if (!notes || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	return find_in_file(fd, notes, ret);
}

int note_id_of_kernel(struct build_id *ret)
{
	_cleanup_(freep) uint8_t *p = NULL;
	size_t len;

	if (io_read_file(NOTES_PATH, LIMIT_NOTES_LEN, &p, &len, NULL))
		return -1;
	return note_id_find(bytes_of(p, len), ret);
}
