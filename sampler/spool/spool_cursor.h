/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_CURSOR_H
#define RAWSTACK_SPOOL_CURSOR_H
/*
 * Walks from record to record of a segment, through damage. Internal to the spool library. One
 * thread at a time.
 */
#include "limits.h"
#include "spool_file.h"

/* Bytes checksummed in vain while looking for the next whole record of one damaged segment. */
#define LIMIT_SPOOL_RESYNC (256 * MIB)

/* Walks the records of one open segment. Fields are for reading. */
struct spool_cursor {
	struct spool_file *file;
	uint32_t off;         /* of the next record */
	uint64_t damaged_len; /* bytes skipped so far because their checksum failed */
	uint8_t *window;
	size_t window_len, window_cap;
	uint32_t window_off;
	uint64_t wasted;   /* bytes checksummed in vain, for LIMIT_SPOOL_RESYNC */
	bool is_over;      /* that was too much: all that is left is counted as damage */
	uint64_t wait_ns;  /* since when the record at off is not whole; 0: it was not looked at */
	uint32_t wait_off; /* that offset */
};

struct spool_record {
	uint32_t off, type;
	const uint8_t *payload; /* borrowed until the next call */
	size_t len;
};

/* The file must outlive the cursor. */
void spool_cursor_init(struct spool_cursor *c, struct spool_file *file, uint32_t off);
void spool_cursor_done(struct spool_cursor *c);

/*
 * The next whole record: 1, 0 when there is none (now), negative on an I/O error. `finished` says
 * that nobody writes to the segment any more: then bytes that are no record are skipped up to the
 * next that is one, and counted; zero bytes up to the end are unused room, not damage. In a segment
 * still written to, what is not whole may be a write going on: it is waited for, by returning 0,
 * and counts as damage after a second. After LIMIT_SPOOL_RESYNC nothing more is looked for, and all
 * that is left counts.
 */
int spool_cursor_next(struct spool_cursor *c, bool finished, struct spool_record *ret,
		      struct err *err);

#endif
