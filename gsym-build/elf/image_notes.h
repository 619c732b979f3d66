/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_NOTES_H
#define RAWSTACK_IMAGE_NOTES_H
/*
 * Finds the GNU build id of an ELF file in its headers and notes alone. It is safe on hostile
 * files: what is read is bounded by the file's length and by a constant, however headers overlap.
 * The service has its worker do it (table_inspect()), others do it in their own process.
 */
#include "build_id.h"
#include "err.h"

struct image_id {
	struct build_id id; /* BUILD_ID_NONE: the notes hold none */
	uint64_t file_len;
	/* The id was found in the first and last HTLHASH_END_LEN bytes, which the htlhash covers,
	 * so the htlhash determines the id. */
	bool in_ends;
};

/*
 * Returns 1, or 0 if there is no build id; damaged notes count as none. ERR_UNSUPPORTED: not a
 * regular file, not ELF, big-endian. ERR_DATA: the file header is damaged or cut. ERR_LIMIT: longer
 * than LIMIT_ELF_FILE_LEN. ERR_IO. Any thread may call it.
 */
int image_notes_id(int fd, struct image_id *ret, struct err *err) _must_check_;

#endif
