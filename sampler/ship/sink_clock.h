/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_CLOCK_H
#define RAWSTACK_SINK_CLOCK_H
/*
 * The clock by which the files of a sink age. The wall clock may be wrong when a host starts and be
 * set later, and a deleted file does not come back. So a wall clock that is ahead of the time that
 * is known is believed only when it has been ahead for a day; one that is behind is believed at
 * once, because that deletes nothing. The known time is kept in the file ".clock" of the sink. A
 * clock is for one thread.
 */
#include "io.h"

/* A clock that moved by more than this was set, or the host was off. */
#define SINK_CLOCK_SET_NS      UINT64_C(3600000000000)
#define SINK_CLOCK_BELIEVED_NS (24 * SINK_CLOCK_SET_NS)

struct sink_clock {
	uint8_t boot_id[16]; /* all zero: not known */
	/* The known time, and the monotonic clock of that boot when it was set; real_ns is 0 if no
	 * time is known yet. */
	uint64_t real_ns, mono_ns;
	uint64_t doubt_ns;    /* running time for which the wall clock has been ahead */
	uint64_t ahead_at_ns; /* the expected time when that was first seen; 0: it is not ahead */
	/* The wall clock at a moment when it may have been behind: files with later dates may be
	 * younger than their dates say. 0: there are none. */
	uint64_t unproven_ns;
};

/* Files with dates from from_ns to to_ns were written by a clock that was behind by by_ns. If by_ns
 * is 0, there are no such files. */
struct sink_clock_shift {
	uint64_t from_ns, to_ns, by_ns;
};

/* Reads the known time. If the file is missing or damaged, nothing is known. */
void sink_clock_load(struct sink_clock *c, const struct io *io, int dir_fd);
/* Writes the known time. A failure is ignored; it only makes a clock be doubted for longer. */
void sink_clock_save(const struct sink_clock *c, const struct io *io, int dir_fd);

/* Gives a clock without a known time one. newest_ns is the date of the newest file that is not from
 * the future, or 0 if there is none; has_future says whether there are files from the future. */
void sink_clock_seed(struct sink_clock *c, const struct io *io, uint64_t newest_ns,
		     bool has_future);

/* Returns the time, which is never later than the wall clock. Fills *shift when it finds that the
 * clock was behind, once, and clears it otherwise. */
uint64_t sink_clock_now(struct sink_clock *c, const struct io *io, struct sink_clock_shift *shift);

#endif
