/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_NOTES_H
#define RAWSTACK_IMAGE_NOTES_H
/*
 * The GNU build id of an ELF file, from its headers and notes alone. Safe on hostile files: what is
 * read is bounded by the file's length and by a constant, however headers overlap. The service has
 * its worker do it (table_inspect()), others do it in their own process.
 */
#include "build_id.h"
#include "err.h"

struct image_id {
	struct build_id id; /* BUILD_ID_NONE: the notes hold none */
	uint64_t file_len;
	/* The id was found in the first and last HTLHASH_END_LEN bytes, which the htlhash covers:
	 * so the htlhash determines the id. */
	bool in_ends;
};

/*
 * 1, or 0 when there is no build id. ERR_UNSUPPORTED: not a regular file, not ELF, big-endian.
 * ERR_DATA: the file header is damaged or cut. ERR_LIMIT: longer than LIMIT_ELF_FILE_LEN. ERR_IO.
 * Damaged notes count as none. Any thread.
 */
int image_notes_id(int fd, struct image_id *ret, struct err *err) _must_check_;

#endif
