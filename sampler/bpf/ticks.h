/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TICKS_H
#define RAWSTACK_TICKS_H
/*
 * Counts the ticks of a CPU's clock that did not come while it ran something. It is known when they
 * are due (tick_pair.h), so those that are absent between the first and the last one that came can
 * be counted. But an idle CPU may get no ticks (below some hypervisors it gets none at all), and
 * then nothing was lost. /proc/stat has the time that each CPU was idle since the machine started,
 * but not which ticks fell into it. So only absent ticks that idling does not explain are counted;
 * on a CPU that was never idle, these are all absent ticks. One thread polls.
 */
#include "base.h"

/* The ticks of one CPU that came. Times are CLOCK_MONOTONIC. */
struct ticks_seen {
	uint64_t runs, idle;        /* ticks that came, and those of them while nothing ran */
	uint64_t first_ns, last_ns; /* times of the first and last one, if any came */
	uint64_t due;               /* ticks due from the first to the last, both included */
};

struct ticks_cpu {
	uint64_t idle_began_ns; /* idle time in /proc/stat when the clock was started */
	bool has_idle;          /* idle_began_ns is known */
	bool is_dark;           /* the CPU runs but has no clock */
	uint64_t missed;        /* never decreases, until the clock begins anew */
	uint64_t began_ns;
	uint64_t runs_before, idle_before; /* counts from before the clock began anew */
};

struct ticks {
	struct ticks_cpu *cpus;
	size_t count;
	uint64_t period_ns;
	uint64_t looked_ns;
	uint64_t absent; /* ticks of all CPUs that were absent at looked_ns */
	uint64_t missed; /* sum over all CPUs */
	bool is_over;
};

/* Begins to count; call it before the clocks start. period_ns is the mean time between ticks. If
 * memory is short, nothing is counted. */
void ticks_begin(struct ticks *t, size_t cpu_count, uint64_t period_ns, uint64_t now_ns);
void ticks_done(struct ticks *t);

/*
 * Notes that the clock of a CPU begins now, because the CPU was off or came on for the first time,
 * so that nothing was lost until now. `seen` is what came until now: later calls count only what
 * `runs` and `idle` grow by, and first_ns must then be that of the next tick. is_dark says that the
 * CPU has no clock, so that all ticks that are due while it is not idle are missed.
 */
void ticks_begin_cpu(struct ticks *t, size_t cpu, const struct ticks_seen *seen, bool is_dark,
		     uint64_t now_ns);

/*
 * Brings t->missed up to date with what was seen of each CPU until now. It reads /proc/stat only if
 * more ticks are absent and TICKS_LOOK_NS have passed, because the kernel adds up every interrupt
 * for it, which takes as long as the rest of a poll. With is_last, it reads now and never again;
 * now_ns is then the time when the clocks stopped.
 */
#define TICKS_LOOK_NS UINT64_C(30000000000)

void ticks_poll(struct ticks *t, const struct ticks_seen *seen, uint64_t now_ns, bool is_last);

/* --- its parts, for tests -------------------------------------------------------------------- */

/* Returns how many ticks between the first and the last did not come. */
uint64_t ticks_absent(const struct ticks_seen *seen);

/* Returns how many absent ticks idling does not explain. idle_ns is the idle time from began_ns to
 * now_ns, in steps of 10 ms, which includes that before the first and after the last tick. */
uint64_t ticks_missed(const struct ticks_seen *seen, uint64_t period_ns, uint64_t began_ns,
		      uint64_t now_ns, uint64_t idle_ns);

/* Calls take(arg, cpu, idle_ns) for each CPU in the text of /proc/stat; waiting for a disk counts
 * as idle. */
void ticks_read_idle(const char *text, void (*take)(void *arg, size_t cpu, uint64_t idle_ns),
		     void *arg);

#endif
