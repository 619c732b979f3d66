/* SPDX-License-Identifier: Apache-2.0 */
#include "image_notes.h"

#include "file_notes.h"
#include "htlhash.h"
#include "limits.h"

/* A note section or segment: build ids, ABI tags and the kernel's ELF notes take 1 KiB in practice.
 */
#define LIMIT_NOTE_LEN MIB

/* A table may be 65,535 headers of the same megabyte of notes; a real file has some kilobytes of
 * them in all. */
#define NOTES_MAX (16 * MIB)

static const struct file_notes_limits limits = {
	.headers = UINT32_MAX,
	.note_len = LIMIT_NOTE_LEN,
	.read_len = NOTES_MAX,
};

/* Headers outside of the file give no build id. */
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
	/* Segments first: a stripped file may have no sections. In a separate debug file they may
	 * point anywhere, so sections come second. */
	rc = or_none(file_notes_in_segments(&h, &limits, &ret->id, err));
	if (!rc)
		rc = or_none(file_notes_in_sections(&h, &limits, &ret->id, err));
	if (rc < 0)
		return rc;
	ret->file_len = h.file_len;
	ret->in_ends = rc && !h.read_middle;
	return rc;
}
