/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_HEADER_H
#define RAWSTACK_SPOOL_HEADER_H
/*
 * The name of a segment, and its header in memory and on the disk. Internal to the spool library.
 */
#include "spool.h"
#include "spool_format.h"

#define SPOOL_SEGMENT_PREFIX "segment-"
#define SPOOL_SEGMENT_SUFFIX ".spool"

enum {
	SPOOL_NAME_MAX = 32
};

/* Writes a name such as "segment-000000000000002a.spool", and returns it. */
const char *spool_segment_name(uint64_t segment, char name[static SPOOL_NAME_MAX]);

struct spool_segment_info {
	uint64_t segment, segment_len;
	uint64_t sync_ns;     /* the writer's promise */
	uint32_t records_off; /* where records begin; of a packed segment, in the unpacked bytes */
	struct spool_origin origin;
	/* Only for a packed segment; block_count is 0 otherwise. */
	uint64_t raw_len;   /* bytes that the blocks unpack to */
	uint32_t late_told; /* 1 + the number of records of type LATE; 0: unknown */
	uint32_t block_len, block_count;
	struct spool_header_block blocks[SPOOL_BLOCKS_MAX];
};

/* Returns the length of the header of a segment with block_count blocks; 0: not packed. */
size_t spool_header_len(uint32_t block_count);

/* Writes the header this version makes; returns its length. */
size_t spool_header_encode(const struct spool_segment_info *info,
			   uint8_t out[static SPOOL_HEADER_MAX]);

/* Reads and checks a header. Returns 0, ERR_DATA for damage, ERR_UNSUPPORTED for another major
 * number, or ERR_IO. All numbers in *ret are within their limits. */
int spool_header_read(const struct io *io, int fd, struct spool_segment_info *ret, struct err *err);

#endif
