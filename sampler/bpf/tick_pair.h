/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TICK_PAIR_H
#define RAWSTACK_TICK_PAIR_H
/*
 * Decides when a CPU's clock ticks. A clock with one fixed period meets a program that works in a
 * cycle of that length at the same place again and again. The kernel has no period that varies. So
 * a CPU has two clock events, whose periods are drawn at random between 4/3 and 4 times the mean
 * one; their rates always add up to the wanted rate. Both periods are drawn anew some hundred ticks
 * later, so that two which happen to fit a program's cycle do not stay.
 *
 *	mean    |    |    |    |    |    |    |    |    |    |    |    |    |
 *	half 0  .      |      |      |      |  drawn anew   |         |
 *	half 1  .                 |            drawn anew     |           |
 *
 * PERF_EVENT_IOC_PERIOD, which sets a new period, also begins it anew, which costs each event half
 * a tick on average. A higher rate in the next period makes up for that and for the fraction of a
 * tick that is left at the end, so the number of ticks is exact to one or two, however long
 * sampling lasts. A backend uses it, from one thread. Times are CLOCK_MONOTONIC.
 */
#include "base.h"

enum {
	TICK_PAIR_COUNT = 2
};

struct tick_half {
	uint64_t period_ns;
	/* The period began at some time between these two, which are apart if this process was
	 * preempted; the first tick comes one period later. */
	uint64_t least_began_ns, most_began_ns;
};

struct tick_pair {
	uint64_t period_ns; /* the time that a tick stands for */
	struct tick_half halves[TICK_PAIR_COUNT];
	uint64_t random;
	uint64_t began_ns; /* when the first periods began */
	double made;       /* estimate of the ticks in all earlier periods */
	uint64_t due;      /* lower bound of the same */
	uint64_t due_first, due_last;
};

/* Draws the first periods, which start at tick_pair_begin(). `random` seeds the draws and may be
 * any value. */
void tick_pair_init(struct tick_pair *p, uint64_t period_ns, uint64_t random);

/* Notes that both events began at now_ns or a moment before. */
void tick_pair_begin(struct tick_pair *p, uint64_t now_ns);

/* Returns whether it is time to draw new periods. */
bool tick_pair_is_old(const struct tick_pair *p, uint64_t now_ns);

/* Draws new periods and sets the events to them. fds[] are the descriptors of the halves, which
 * tick already. */
void tick_pair_turn(struct tick_pair *p, const int fds[static TICK_PAIR_COUNT]);

/*
 * Returns how many ticks were due from the first one that came to the last, both included, or 0 if
 * none came. Call it in each round, before tick_pair_turn(). It leaves out ticks that were due
 * during a turn, and those that may still come late.
 */
uint64_t tick_pair_due(struct tick_pair *p, uint64_t first_ns, uint64_t last_ns);

/* --- inside, for tests ----------------------------------------------------------------------- */

/* Draws the periods that a turn at now_ns sets, without setting them. */
void tick_pair_draw(struct tick_pair *p, uint64_t now_ns, uint64_t ret_ns[static TICK_PAIR_COUNT]);

/* Notes that a half has had this period since some time between least_ns and most_ns. */
void tick_pair_set(struct tick_pair *p, size_t half, uint64_t period_ns, uint64_t least_ns,
		   uint64_t most_ns);

#endif
