/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_COMPRESS_H
#define RAWSTACK_SPOOL_COMPRESS_H
/*
 * Makes the packed form of a sealed segment beside it. It does not interpret the bytes: damage
 * stays where it is, and offsets stay the same. Internal to the spool library. Any thread may call
 * it.
 */
#include "spool_segment.h"

/*
 * Writes the whole segment to ".<name>.packed.tmp" and syncs that; the caller renames it over the
 * segment, or removes it. Returns 1 and its length in *ret_len; 0 when the segment is packed
 * already or packing gains nothing; or ERR_NOT_FOUND, ERR_DATA, ERR_IO, ... There is a file only
 * after 1.
 */
int spool_compress(const struct io *io, int dir_fd, uint64_t segment, uint64_t *ret_len,
		   struct err *err);

enum {
	SPOOL_COMPRESSED_NAME_MAX = SPOOL_NAME_MAX + 16
};
const char *spool_compressed_name(uint64_t segment, char name[static SPOOL_COMPRESSED_NAME_MAX]);

#endif
