/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_CLOCK_H
#define RAWSTACK_SINK_CLOCK_H
/*
 * The time that the age of a sink's files is told by. The wall clock may be wrong when a host
 * starts and be set later, and what is deleted does not come back. So a clock that is ahead of what
 * is known is believed only when it has been so for a day; one that is behind at once, for that
 * deletes nothing. What is known outlives the process, in the file ".clock" of the sink. One
 * thread.
 */
#include "io.h"

/* A clock that is off by more was set, or the host was off. */
#define SINK_CLOCK_SET_NS      UINT64_C(3600000000000)
#define SINK_CLOCK_BELIEVED_NS (24 * SINK_CLOCK_SET_NS)

struct sink_clock {
	uint8_t boot_id[16]; /* zero: not known */
	/* What was believed, and the monotonic clock of that boot then; real_ns 0: nothing yet. */
	uint64_t real_ns, mono_ns;
	uint64_t doubt_ns;    /* how long the clock has been ahead of that, as far as hosts ran */
	uint64_t ahead_at_ns; /* what was expected when that was first seen; 0: it is not ahead */
	/* What the clock said when it may have been behind: files dated since then may be younger
	 * than they say. 0: there are none. */
	uint64_t unproven_ns;
};

/* Files dated from `from` to `to` were written by a clock that was behind by so much; 0: none. */
struct sink_clock_shift {
	uint64_t from_ns, to_ns, by_ns;
};

/* Reads what is known; a file that is not there or is damaged is nothing. */
void sink_clock_load(struct sink_clock *c, const struct io *io, int dir_fd);
/* Best effort; what is not written is doubted longer. */
void sink_clock_save(const struct sink_clock *c, const struct io *io, int dir_fd);

/* Where nothing is known: the date of the newest file that is not from the future (0: there is
 * none), and whether others are. */
void sink_clock_seed(struct sink_clock *c, const struct io *io, uint64_t newest_ns,
		     bool has_future);

/* The time now, never later than what the wall clock says. Tells once when a clock was behind. */
uint64_t sink_clock_now(struct sink_clock *c, const struct io *io, struct sink_clock_shift *shift);

#endif
