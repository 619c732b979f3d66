/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TICKS_H
#define RAWSTACK_TICKS_H
/*
 * How many ticks of a CPU's clock did not come while it ran something. When they are due is known
 * (tick_pair.h), so those between the first and the last that came can be counted; but a CPU that
 * is idle may be left alone by its clock (below some hypervisors, it is by each tick), and nothing
 * was lost then. How long it was idle /proc/stat knows, of each CPU since the machine started;
 * which ticks fell into that nobody knows. So what is counted is what idling cannot explain, and on
 * a CPU that never was idle each tick that did not come. Stage: beside the capture. One thread.
 */
#include "base.h"

/* Of one CPU. Times are CLOCK_MONOTONIC. */
struct ticks_seen {
	uint64_t runs, idle;        /* ticks that came; of these, while nothing ran */
	uint64_t first_ns, last_ns; /* if any came */
	uint64_t due;               /* from the first to the last, with both */
};

struct ticks_cpu {
	uint64_t idle_began_ns; /* what /proc/stat said when the clock was started */
	bool has_idle;          /* it said something */
	bool is_dark;           /* it runs, and has no clock */
	uint64_t missed;        /* never goes back, until it begins anew */
	uint64_t began_ns;
	uint64_t runs_before, idle_before; /* it began anew */
};

struct ticks {
	struct ticks_cpu *cpus;
	size_t count;
	uint64_t period_ns;
	uint64_t looked_ns;
	uint64_t absent; /* when it was looked: of all CPUs */
	uint64_t missed; /* of all CPUs */
	bool is_over;
};

/* Before the clocks are started. period_ns: the mean time between ticks. Without memory, nothing is
 * counted. */
void ticks_begin(struct ticks *t, size_t cpu_count, uint64_t period_ns, uint64_t now_ns);
void ticks_done(struct ticks *t);

/*
 * The clock of a CPU begins now, for the CPU was off, or came up for the first time: the time until
 * then is no loss. seen: until now, and nothing of it counts from here on but what runs and idle
 * grow by; first_ns is to be that of the next tick. is_dark: there is no clock, so all ticks are
 * missed that are due while it is not idle.
 */
void ticks_begin_cpu(struct ticks *t, size_t cpu, const struct ticks_seen *seen, bool is_dark,
		     uint64_t now_ns);

/*
 * With what was seen of each CPU until now. Reads /proc/stat, and only when more ticks did not
 * come, TICKS_LOOK_NS after the last time: that takes as long as all else of a poll, for the kernel
 * adds up every interrupt. is_last: now, and never again, with the time when the clocks were
 * stopped. Then t->missed is up to date.
 */
#define TICKS_LOOK_NS UINT64_C(30000000000)

void ticks_poll(struct ticks *t, const struct ticks_seen *seen, uint64_t now_ns, bool is_last);

/* --- its parts, for tests -------------------------------------------------------------------- */

/* Ticks between the first and the last one that did not come. */
uint64_t ticks_absent(const struct ticks_seen *seen);

/* Of these, those that idling does not explain: idle_ns, as it was counted from began_ns to now_ns
 * in steps of 10 ms, before and behind the ticks too. */
uint64_t ticks_missed(const struct ticks_seen *seen, uint64_t period_ns, uint64_t began_ns,
		      uint64_t now_ns, uint64_t idle_ns);

/* Calls take(arg, cpu, idle_ns) for each CPU that the text of /proc/stat has; idle is with what it
 * waited for a disk. */
void ticks_read_idle(const char *text, void (*take)(void *arg, size_t cpu, uint64_t idle_ns),
		     void *arg);

#endif
