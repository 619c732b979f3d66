/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SEGMENT_H
#define RAWSTACK_SPOOL_SEGMENT_H
/*
 * What the writer and the reader of a spool share: names, headers, the walk from record to record
 * through damage, and the acknowledgement. Internal to the spool library; callers use spool.h. One
 * thread at a time for each object.
 */
#include "spool.h"
#include "spool_format.h"

enum {
	SPOOL_NAME_MAX = 32
};

/* "segment-000000000000002a.spool". Returns name. */
const char *spool_segment_name(uint64_t segment, char name[static SPOOL_NAME_MAX]);

/* The numbers of the segments in a directory, ascending. Freed by the caller. ERR_LIMIT above
 * LIMIT_SPOOL_FILES. */
struct spool_segments {
	uint64_t *numbers;
	size_t count;
};
int spool_segments_list(const struct io *io, int dir_fd, struct spool_segments *ret,
			struct err *err);

/* Removes unfinished files of a writer or reader that was killed. Errors do not matter: they only
 * hold space. For the writer, under its lock. */
void spool_segments_clean(const struct io *io, int dir_fd);

struct spool_segment_info {
	uint64_t segment, segment_len;
	uint32_t records_off;
	struct spool_origin origin;
};

/* Writes the header this version makes. */
void spool_header_encode(const struct spool_segment_info *info, uint64_t sync_ns,
			 uint8_t out[static SPOOL_HEADER_LEN]);

/* ERR_DATA for damage, ERR_UNSUPPORTED for another major number, ERR_IO. */
int spool_header_read(const struct io *io, int fd, struct spool_segment_info *ret, struct err *err);

/* --- places ---------------------------------------------------------------------------------- */

static inline uint64_t spool_place(uint64_t off, uint64_t samples)
{
	return off | samples << 32;
}

static inline uint32_t spool_place_off(uint64_t place)
{
	return (uint32_t)place;
}

static inline uint32_t spool_place_samples(uint64_t place)
{
	return (uint32_t)(place >> 32);
}

/* --- records --------------------------------------------------------------------------------- */

/* Walks the records of one open segment. Fields are for reading. */
struct spool_cursor {
	const struct io *io;
	int fd;
	uint32_t off;         /* of the next record */
	uint64_t damaged_len; /* bytes skipped so far because their checksum failed */
	uint8_t *window;
	size_t window_len, window_cap;
	uint32_t window_off;
	uint64_t wasted;   /* bytes checksummed in vain, for LIMIT_SPOOL_RESYNC */
	uint64_t wait_ns;  /* since when the record at off is not whole; 0: it was not looked at */
	uint32_t wait_off; /* that offset */
};

struct spool_record {
	uint32_t off, type;
	const uint8_t *payload; /* borrowed until the next call */
	size_t len;
};

void spool_cursor_init(struct spool_cursor *c, const struct io *io, int fd, uint32_t off);
void spool_cursor_done(struct spool_cursor *c);

/*
 * The next whole record: 1, 0 when there is none (now), negative on an I/O error. `finished` says
 * that nobody writes to the segment any more: then bytes that are no record are skipped up to the
 * next that is one, and counted; zero bytes up to the end are unused room, not damage. In a segment
 * still written to, what is not whole may be a write going on: it is waited for, by returning 0,
 * and counts as damage after a second.
 */
int spool_cursor_next(struct spool_cursor *c, bool finished, struct spool_record *ret,
		      struct err *err);

/* --- acknowledgement ------------------------------------------------------------------------- */

/* 0 in both when there is none, or a damaged one: delivering again is safe, batch ids say so. */
int spool_ack_read(const struct io *io, int dir_fd, uint64_t *ret_segment, uint64_t *ret_place,
		   struct err *err);
int spool_ack_write(const struct io *io, int dir_fd, uint64_t segment, uint64_t place,
		    struct err *err);

/* How many samples stand behind a place of a segment nobody writes to; 0 when it cannot be read. */
uint64_t spool_segment_samples(const struct io *io, int dir_fd, uint64_t segment, uint64_t place);

#endif
