/* SPDX-License-Identifier: Apache-2.0 */
#include "file_notes.h"

#include <elf.h>
#include <string.h>

#include "io.h"
#include "limits.h"

/* The most bytes of ELF notes that are read to find a build id, which is among the first notes. */
#define LIMIT_NOTES_LEN LIMIT(65536)

/* The length of a note without name and content. */
#define NOTE_MIN 12

int file_notes_find(struct bytes notes, uint64_t align, struct build_id *ret)
{
	const size_t mask = align == 8 ? 7 : 3;

	while (notes.left >= NOTE_MIN) {
		const uint32_t name_len = bytes_u32(&notes), content_len = bytes_u32(&notes);
		const uint32_t type = bytes_u32(&notes);
		const uint8_t *name = bytes_take(&notes, name_len), *content;

		bytes_skip(&notes, -(NOTE_MIN + (size_t)name_len) & mask);
		content = bytes_take(&notes, content_len);
		if (notes.failed)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0)
			return build_id_set(ret, BUILD_ID_GNU, content, content_len, NULL) == 0;
		/* The padding behind the last note may be missing. */
		if (notes.left)
			bytes_skip(&notes, -(size_t)content_len & mask);
	}
	return 0;
}

/* Looks for the build id in the content of a header. Returns 1, 0, or an error if the content could
 * not be read. */
static int find_in_content(struct file_headers *h, const struct file_header *s,
			   struct build_id *ret, struct err *err)
{
	_cleanup_(freep) uint8_t *p = malloc(s->len);

	if (!p)
		return err_no_memory(err);
	TRY(file_headers_bytes(h, p, s->len, s->off, err));
	return file_notes_find(bytes_of(p, s->len), s->align, ret);
}

typedef int read_header(struct file_headers *h, uint32_t i, struct file_header *ret,
			struct err *err);

static int find_by_headers(struct file_headers *h, const struct file_header_table *t,
			   read_header *read, uint32_t wanted,
			   const struct file_notes_limits *limits, struct build_id *ret,
			   struct err *err)
{
	/* Unless notes overlap, a file has no more of them than its length. */
	uint64_t left = h->file_len < limits->read_len ? h->file_len : limits->read_len;

	for (uint32_t i = 0; t->off && i < t->count && i < limits->headers; i++) {
		struct file_header s;

		TRY(read(h, i, &s, err));
		if (s.type != wanted || s.len < NOTE_MIN || s.len > limits->note_len ||
		    s.len > left || s.off > h->file_len || s.len > h->file_len - s.off)
			continue;
		left -= s.len;
		TRY(find_in_content(h, &s, ret, err));
	}
	return 0;
}

int file_notes_in_segments(struct file_headers *h, const struct file_notes_limits *limits,
			   struct build_id *ret, struct err *err)
{
	return find_by_headers(h, &h->segments, file_headers_segment, PT_NOTE, limits, ret, err);
}

int file_notes_in_sections(struct file_headers *h, const struct file_notes_limits *limits,
			   struct build_id *ret, struct err *err)
{
	return find_by_headers(h, &h->sections, file_headers_section, SHT_NOTE, limits, ret, err);
}

int file_notes_of_file(int fd, struct build_id *ret)
{
	static const struct file_notes_limits limits = {
		.headers = LIMIT_NOTE_HEADERS,
		.note_len = LIMIT_NOTES_LEN,
		.read_len = LIMIT_NOTE_HEADERS * LIMIT_NOTES_LEN,
	};
	struct file_headers h;
	int rc;

	TRY(file_headers_read(fd, &h, NULL));
	if (!h.segments.is_usual)
		return ERR_DATA;
	rc = file_notes_in_segments(&h, &limits, ret, NULL);
	if (rc || !h.sections.is_usual)
		return rc;
	/* Go's linker leaves the section of the GNU build id out of every segment of notes, so the
	 * kernel does not see it, but the sections of a stripped file still lead to it. A mapped
	 * file needs no sections, so sections that cannot be read count as none. */
	return file_notes_in_sections(&h, &limits, ret, NULL) == 1;
}

int file_notes_of_path(const char *path, struct build_id *ret, struct err *err)
{
	_cleanup_(freep) uint8_t *p = NULL;
	size_t len;

	TRY(io_read_file(path, LIMIT_NOTES_LEN, &p, &len, err));
	return file_notes_find(bytes_of(p, len), 4, ret) == 1
		       ? 0
		       : err_set(err, ERR_NOT_FOUND, "%s: no build id", path);
}
