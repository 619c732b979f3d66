/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_STATS_H
#define RAWSTACK_SPOOL_STATS_H
/* Counts what the bytes of a spool are spent on. Reads every segment, and changes nothing. */
#include "spool_segment.h"

enum {
	SPOOL_STATS_TYPES = SPOOL_RECORD_FILE_SEGMENTS + 1
};

struct spool_stats {
	uint64_t segments, packed; /* how many; how many of them are packed */
	uint64_t unread;           /* how many have a format that this program does not read */
	uint64_t len, raw_len;     /* on the disk; unpacked, without unused room */
	uint64_t samples, damaged_len;
	struct {
		uint64_t records, entries, len; /* heads and padding included */
	} types[SPOOL_STATS_TYPES];
};

/* Returns 0, ERR_NOT_FOUND, ERR_IO or ERR_MEMORY. Segments that cannot be opened count as damaged.
 */
int spool_stats_read(struct spool_stats *ret, const char *dir, struct err *err);

#endif
