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

/* The ticks of one CPU that came. Times are CLOCK_MONOTONIC. */
struct ticks_seen {
	uint64_t runs, idle;        /* ticks that came; idle: those while nothing ran */
	uint64_t first_ns, last_ns; /* if any came */
	uint64_t due;               /* from the first to the last, both included */
};

struct ticks_cpu {
	uint64_t idle_began_ns; /* what /proc/stat said when the clock was started */
	bool has_idle;          /* it said something */
	bool is_dark;           /* it runs, and has no clock */
	uint64_t missed;        /* never goes back, until it begins anew */
	uint64_t began_ns;
	uint64_t runs_before, idle_before; /* counts until the clock began anew */
};

struct ticks {
	struct ticks_cpu *cpus;
	size_t count;
	uint64_t period_ns;
	uint64_t looked_ns;
	uint64_t absent; /* at looked_ns, of all CPUs */
	uint64_t missed; /* of all CPUs */
	bool is_over;
};

/* Must come before the clocks start. period_ns: the mean time between ticks. Counts nothing when
 * memory is short. */
void ticks_begin(struct ticks *t, size_t cpu_count, uint64_t period_ns, uint64_t now_ns);
void ticks_done(struct ticks *t);

/*
 * Tells that the clock of a CPU begins now, for the CPU was off, or came on for the first time: the
 * time until then is no loss. seen: what came until now; later calls count only what runs and idle
 * grow by, and first_ns must then be that of the next tick. is_dark: the CPU has no clock, so all
 * ticks are missed that are due while it is not idle.
 */
void ticks_begin_cpu(struct ticks *t, size_t cpu, const struct ticks_seen *seen, bool is_dark,
		     uint64_t now_ns);

/*
 * Brings t->missed up to date with what was seen of each CPU until now. Reads /proc/stat only when
 * more ticks are absent and TICKS_LOOK_NS have passed: the kernel adds up every interrupt for it,
 * which takes as long as the rest of a poll. is_last: reads now, and never again; now_ns is then
 * when the clocks stopped.
 */
#define TICKS_LOOK_NS UINT64_C(30000000000)

void ticks_poll(struct ticks *t, const struct ticks_seen *seen, uint64_t now_ns, bool is_last);

/* --- its parts, for tests -------------------------------------------------------------------- */

/* Returns how many ticks between the first and the last did not come. */
uint64_t ticks_absent(const struct ticks_seen *seen);

/* Returns how many absent ticks idling does not explain. idle_ns: counted from began_ns to now_ns,
 * in steps of 10 ms, so also before the first and after the last tick. */
uint64_t ticks_missed(const struct ticks_seen *seen, uint64_t period_ns, uint64_t began_ns,
		      uint64_t now_ns, uint64_t idle_ns);

/* Calls take(arg, cpu, idle_ns) for each CPU in the text of /proc/stat; waiting for a disk counts
 * as idle. */
void ticks_read_idle(const char *text, void (*take)(void *arg, size_t cpu, uint64_t idle_ns),
		     void *arg);

#endif
