/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_COMPRESS_H
#define RAWSTACK_SPOOL_COMPRESS_H
/*
 * Makes the packed form of a sealed segment beside it. It does not interpret the bytes: damage
 * stays where it is, and offsets stay the same. Internal to the spool library. Any thread.
 */
#include "spool_segment.h"

/*
 * Writes ".<name>.packed.tmp" with everything of the segment, synced; the caller renames it over
 * the segment, or removes it. 1 and *ret_len, its length; 0 when the segment is packed already or
 * packing gains nothing: then there is no file. Negative: ERR_NOT_FOUND, ERR_DATA, ERR_IO, ...; no
 * file either.
 */
int spool_compress(const struct io *io, int dir_fd, uint64_t segment, uint64_t *ret_len,
		   struct err *err);

enum {
	SPOOL_COMPRESSED_NAME_MAX = SPOOL_NAME_MAX + 16
};
const char *spool_compressed_name(uint64_t segment, char name[static SPOOL_COMPRESSED_NAME_MAX]);

#endif
