/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_CURSOR_H
#define RAWSTACK_SPOOL_CURSOR_H
/*
 * Walks from record to record of a segment, through damage. Internal to the spool library. One
 * thread uses it at a time.
 */
#include "limits.h"
#include "spool_file.h"

/* Most bytes that are checksummed in vain in the search for whole records of one damaged segment.
 */
#define LIMIT_SPOOL_RESYNC (256 * MIB)

/* Walks the records of one open segment. Callers only read the fields. */
struct spool_cursor {
	struct spool_file *file;
	uint32_t off;         /* of the next record */
	uint64_t damaged_len; /* bytes skipped so far because their checksum failed */
	uint8_t *window;
	size_t window_len, window_cap;
	uint32_t window_off;
	uint64_t wasted;   /* bytes checksummed in vain, for LIMIT_SPOOL_RESYNC */
	bool is_over;      /* `wasted` reached its limit: the rest of the segment is damage */
	uint64_t wait_ns;  /* since when the record at off is not whole; 0: it was not looked at */
	uint32_t wait_off; /* the offset of that record */
};

struct spool_record {
	uint32_t off, type;
	const uint8_t *payload; /* borrowed until the next call */
	size_t len;
};

/* Begins to read at off. The file must outlive the cursor. */
void spool_cursor_init(struct spool_cursor *c, struct spool_file *file, uint32_t off);
void spool_cursor_done(struct spool_cursor *c);

/*
 * Finds the next whole record. Returns 1, 0 when there is none now, negative on an I/O error.
 * `finished` says that nobody writes to the segment any more: then bytes that are no record are
 * counted and skipped up to the next record, except for zero bytes up to the end, which are unused
 * room. In a segment that is still written to, an incomplete record may be a write that goes on:
 * this returns 0 for a second before it counts as damage. After LIMIT_SPOOL_RESYNC the search ends,
 * and the rest of the segment counts as damage.
 */
int spool_cursor_next(struct spool_cursor *c, bool finished, struct spool_record *ret,
		      struct err *err);

#endif
