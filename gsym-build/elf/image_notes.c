/* SPDX-License-Identifier: Apache-2.0 */
#include "image_notes.h"

#include "file_notes.h"
#include "htlhash.h"
#include "limits.h"

/* The most bytes of a note section or segment. Build ids, ABI tags and the kernel's ELF notes take
 * 1 KiB in practice. */
#define LIMIT_NOTE_LEN MIB

/* The most bytes of notes read in a file, whose 65,535 headers may all give the same megabyte. A
 * real file has some kilobytes of notes in all. */
#define LIMIT_FILE_NOTES_LEN (16 * MIB)

static const struct file_notes_limits limits = {
	.headers = UINT32_MAX,
	.note_len = LIMIT_NOTE_LEN,
	.read_len = LIMIT_FILE_NOTES_LEN,
};

/* Treats headers outside of the file as no build id. */
static int or_none(int rc)
{
	return rc == ERR_DATA ? 0 : rc;
}

int image_notes_id(int fd, struct image_id *ret, struct err *err)
{
	struct file_headers h;
	int rc = file_headers_read(fd, &h, err);

	*ret = (struct image_id){0};
	if (rc)
		return rc;
	if (h.file_len > LIMIT_ELF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "file of %llu bytes; the limit is %llu",
			       (unsigned long long)h.file_len,
			       (unsigned long long)LIMIT_ELF_FILE_LEN);
	h.ends_len = HTLHASH_END_LEN;
	/* Segments come first, because a stripped file may have no sections. Sections are searched
	 * too, because the segments of a separate debug file may point anywhere. */
	rc = or_none(file_notes_in_segments(&h, &limits, &ret->id, err));
	if (!rc)
		rc = or_none(file_notes_in_sections(&h, &limits, &ret->id, err));
	if (rc < 0)
		return rc;
	ret->file_len = h.file_len;
	ret->in_ends = rc && !h.read_middle;
	return rc;
}
