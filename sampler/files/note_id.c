/* SPDX-License-Identifier: Apache-2.0 */
#include "note_id.h"

#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "file_headers.h"
#include "io.h"
#include "limits.h"

#define NOTES_PATH "/sys/kernel/notes"

enum {
	NOTE_GNU_BUILD_ID = 3, /* from the gABI */
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

/* 1 and *ret, 0, or -1 when a header cannot be read; notes has room for LIMIT_NOTES_LEN. */
static int find_by_headers(int fd, const struct file_headers *h, bool of_sections, uint8_t *notes,
			   struct build_id *ret)
{
	const uint32_t wanted = of_sections ? ELF_SECTION_NOTE : ELF_SEGMENT_NOTE;
	const uint16_t count = of_sections ? h->sections.count : h->segments.count;

	for (uint16_t i = 0; i < count && i < LIMIT_NOTE_HEADERS; i++) {
		struct file_header s;

		if (of_sections ? file_headers_section(fd, h, i, &s)
				: file_headers_segment(fd, h, i, &s))
			return -1;
		if (s.type == wanted && s.len <= LIMIT_NOTES_LEN && s.off <= INT64_MAX &&
		    pread(fd, notes, s.len, (off_t)s.off) == (ssize_t)s.len &&
		    note_id_find(bytes_of(notes, s.len), ret))
			return 1;
	}
	return 0;
}

/* Go's linker leaves the section of the GNU build id out of every segment of notes, so that the
 * kernel does not see it; the sections of a stripped file still lead to it. */
static int find_in_file(int fd, uint8_t *notes, struct build_id *ret)
{
	struct file_headers h;
	int rc;

	if (file_headers_read(fd, &h) || !h.segments.is_usual)
		return -1;
	rc = find_by_headers(fd, &h, false, notes, ret);
	if (rc || !h.sections.off || !h.sections.is_usual)
		return rc;
	/* What is mapped needs no sections: headers that cannot be read are none. */
	return find_by_headers(fd, &h, true, notes, ret) == 1;
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
