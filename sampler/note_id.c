/* SPDX-License-Identifier: Apache-2.0 */
#include "note_id.h"

#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "io.h"
#include "limits.h"

#define NOTES_PATH "/sys/kernel/notes"

/* From the gABI. <elf.h> is for those who read more of a file than this. */
enum {
	NOTE_GNU_BUILD_ID = 3,
	IDENT_LEN = 16,
	IDENT_CLASS = 4,
	CLASS_32 = 1,
	CLASS_64 = 2,
	SEGMENT_NOTE = 4,
	SECTION_NOTE = 7,
	HEADER_MAX = 64, /* the longest of all headers */
};

/* Both classes have the same fields, but for a segment's flags, which stand elsewhere. Addresses,
 * offsets and lengths have 8 bytes in one and 4 in the other. */
struct elf_class {
	bool is_64;
	size_t file_header_len, segment_header_len, section_header_len;
};

static const struct elf_class classes[] = {
	[CLASS_32] = {false, 52, 32, 40},
	[CLASS_64] = {true, 64, 56, 64},
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

static uint64_t read_word(struct bytes *in, const struct elf_class *class)
{
	return class->is_64 ? bytes_u64(in) : bytes_u32(in);
}

/* Where the notes of a segment, or of a section, are; false: it holds none. */
static bool notes_of(struct bytes header, const struct elf_class *class, bool of_section,
		     uint64_t *ret_off, uint64_t *ret_len)
{
	uint32_t type;

	bytes_skip(&header, of_section ? 4 : 0); /* name */
	type = bytes_u32(&header);
	if (of_section) {
		read_word(&header, class); /* flags */
		read_word(&header, class); /* address */
	} else if (class->is_64) {
		bytes_skip(&header, 4); /* flags */
	}
	*ret_off = read_word(&header, class);
	if (!of_section) {
		read_word(&header, class); /* virtual address */
		read_word(&header, class); /* physical address */
	}
	*ret_len = read_word(&header, class);
	return type == (of_section ? SECTION_NOTE : SEGMENT_NOTE);
}

/* 1 and *ret, 0, or -1 when a header cannot be read; notes has room for LIMIT_NOTES_LEN. */
static int find_by_headers(int fd, const struct elf_class *class, const struct headers *h,
			   bool of_sections, uint8_t *notes, struct build_id *ret)
{
	const size_t want = of_sections ? class->section_header_len : class->segment_header_len;

	if (h->entry_len != want)
		return 0;
	for (uint16_t i = 0; i < h->count && i < LIMIT_NOTE_HEADERS; i++) {
		uint8_t header[HEADER_MAX];
		uint64_t at, off, len;

		if (!CHECKED_ADD(h->off, (uint64_t)i * want, &at) || !read_at(fd, header, want, at))
			return -1;
		if (notes_of(bytes_of(header, want), class, of_sections, &off, &len) &&
		    len <= LIMIT_NOTES_LEN && read_at(fd, notes, len, off) &&
		    note_id_find(bytes_of(notes, len), ret))
			return 1;
	}
	return 0;
}

/* NULL: no ELF file, or of neither class. */
static const struct elf_class *read_class(int fd)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F'};
	uint8_t ident[IDENT_LEN];

	if (!read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, magic, sizeof(magic)) ||
	    (ident[IDENT_CLASS] != CLASS_32 && ident[IDENT_CLASS] != CLASS_64))
		return NULL;
	return &classes[ident[IDENT_CLASS]];
}

/* Go's linker leaves the section of the GNU build id out of every segment of notes, so that the
 * kernel does not see it; the sections of a stripped file still lead to it. */
static int find_in_file(int fd, uint8_t *notes, struct build_id *ret)
{
	const struct elf_class *class = read_class(fd);
	struct headers segments, sections;
	uint8_t header[HEADER_MAX];
	struct bytes in;
	int rc;

	if (!class || !read_at(fd, header, class->file_header_len, 0))
		return -1;
	in = bytes_of(header, class->file_header_len);
	bytes_skip(&in, IDENT_LEN + 8); /* type, machine, version */
	read_word(&in, class);          /* entry */
	segments.off = read_word(&in, class);
	sections.off = read_word(&in, class);
	bytes_skip(&in, 6); /* flags, length of this header */
	segments.entry_len = bytes_u16(&in);
	segments.count = bytes_u16(&in);
	sections.entry_len = bytes_u16(&in);
	sections.count = bytes_u16(&in);
	if (segments.entry_len != class->segment_header_len)
		return -1;
	rc = find_by_headers(fd, class, &segments, false, notes, ret);
	if (rc || !sections.off)
		return rc;
	/* What is mapped needs no sections: headers that cannot be read are none. */
	return find_by_headers(fd, class, &sections, true, notes, ret) == 1;
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
