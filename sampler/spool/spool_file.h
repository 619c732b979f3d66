/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_FILE_H
#define RAWSTACK_SPOOL_FILE_H
/*
 * One segment, open for reading: the bytes that the writer appended, from a plain or a packed file.
 * Places, batch ids and acknowledgements are offsets in these bytes, so packing a segment changes
 * none of them. Internal to the spool library. One thread uses it at a time.
 */
#include "spool_header.h"

struct spool_unpacker;

struct spool_file {
	const struct io *io;
	int fd; /* -1: not open */
	struct spool_segment_info info;
	/* Only for a packed segment: the block that was last unpacked. */
	struct spool_unpacker *unpacker;
	uint8_t *packed, *block;
	uint32_t block_index; /* UINT32_MAX: none */
};

/* Returns 0, or ERR_NOT_FOUND, ERR_DATA (a damaged header, or one of another number),
 * ERR_UNSUPPORTED, ERR_IO, ERR_MEMORY. After an error f is closed. */
int spool_file_open(struct spool_file *f, const struct io *io, int dir_fd, uint64_t segment,
		    struct err *err);
void spool_file_close(struct spool_file *f);

/*
 * Reads like pread(2): up to len bytes, 0 at the end, or -errno. A damaged packed block reads as
 * bytes of 0xff, which are neither a record nor unused room, so the damage is counted where it is.
 */
ssize_t spool_file_pread(struct spool_file *f, void *p, size_t len, uint64_t off);

#endif
