/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SEGMENT_H
#define RAWSTACK_SPOOL_SEGMENT_H
/*
 * The directory of a spool, as its writer and its reader see it: names of segments, places in them,
 * the acknowledgement. Internal to the spool library; callers use spool.h.
 */
#include "bytes.h"
#include "spool_cursor.h"

/* The numbers of the segments in a directory, ascending; the caller frees them. */
struct spool_segments {
	uint64_t *numbers;
	size_t count;
};
/* Lists the segments of a directory. Returns 0, ERR_IO, ERR_MEMORY, or ERR_LIMIT above
 * LIMIT_SPOOL_FILES. */
int spool_segments_list(const struct io *io, int dir_fd, struct spool_segments *ret,
			struct err *err);

/* Removes unfinished files of a writer or reader that was killed. A file that stays takes space
 * only, so errors are ignored. The writer calls it under its lock. */
void spool_segments_clean(const struct io *io, int dir_fd);

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

/* --- acknowledgement ------------------------------------------------------------------------- */

/* Reads the acknowledgement: zeros when there is none or it is damaged. Delivering again is safe
 * then, because a batch keeps its id. */
int spool_ack_read(const struct io *io, int dir_fd, uint64_t *ret_segment, uint64_t *ret_place,
		   struct err *err);
int spool_ack_write(const struct io *io, int dir_fd, uint64_t segment, uint64_t place,
		    struct err *err);

/* --- what limits dropped --------------------------------------------------------------------- */

/* States that all segments up to `segment` are dropped, and how many samples went unsent since the
 * directory was made. */
struct spool_drops {
	uint64_t samples, segment;
	uint64_t sequence; /* of the statement on the disk; 0: none */
};

/* Reads the statement; zeros when there is none. */
void spool_drops_read(const struct io *io, int dir_fd, struct spool_drops *ret);

/* Makes the statement durable, with the next sequence. The file takes its room when it is first
 * written, so that a full disk does not hinder it later. */
int spool_drops_write(const struct io *io, int dir_fd, struct spool_drops *drops, struct err *err);

/* Returns how many samples follow a place of a segment nobody writes to; 0: unreadable. */
uint64_t spool_segment_samples(const struct io *io, int dir_fd, uint64_t segment, uint64_t place);

/* Returns where the last record of a segment ends now; 0 when it cannot be read. */
uint32_t spool_segment_end(const struct io *io, int dir_fd, uint64_t segment);

/* Reads the losses that a segment states last. They stay unchanged when it states none, or cannot
 * be read. */
void spool_segment_losses(const struct io *io, int dir_fd, uint64_t segment,
			  uint64_t losses[static SPOOL_LOSS_COUNT]);

/* Returns the number of samples that a record of type SAMPLES states, at most what fits in it. */
uint32_t spool_samples_count(struct bytes in);

/* Reads a record of type LOSSES. */
void spool_losses_read(struct bytes in, uint64_t losses[static SPOOL_LOSS_COUNT]);

#endif
