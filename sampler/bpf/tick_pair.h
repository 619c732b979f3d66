/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TICK_PAIR_H
#define RAWSTACK_TICK_PAIR_H
/*
 * When a CPU's clock ticks. A clock with one fixed period meets a program that works in a cycle of
 * that length at the same place again and again. The kernel has no period that varies. So a CPU has
 * two clock events, whose periods lie between 4/3 and 4 times the mean one and are drawn at random;
 * their rates add up to the rate that is wanted, at any time. Both are drawn anew some hundred
 * ticks later, so that two that happen to fit a program's cycle do not stay.
 *
 *	mean    |    |    |    |    |    |    |    |    |    |    |    |    |
 *	half 0  .      |      |      |      |  drawn anew   |         |
 *	half 1  .                 |            drawn anew     |           |
 *
 * To draw anew begins a period anew (PERF_EVENT_IOC_PERIOD does), which costs each event half a
 * tick on average. That, and what a life's whole ticks leave over, is made up for by a rate that is
 * so much higher in the next one: the number of ticks is exact to one or two, however long it
 * lasts. Stage: inside a backend. One thread. Times are CLOCK_MONOTONIC.
 */
#include "base.h"

enum {
	TICK_PAIR_COUNT = 2
};

struct tick_half {
	uint64_t period_ns;
	/* The period began at some time between the two, for this process may have been preempted;
	 * the first tick comes one period later. */
	uint64_t least_began_ns, most_began_ns;
};

struct tick_pair {
	uint64_t period_ns; /* what a tick stands for */
	struct tick_half halves[TICK_PAIR_COUNT];
	uint64_t random;
	uint64_t began_ns; /* for the first time */
	double made;       /* ticks of periods that were drawn before these, about */
	uint64_t due;      /* no more than that */
	uint64_t due_first, due_last;
};

/* Draws the first periods, which start at tick_pair_begin(). random: any value. */
void tick_pair_init(struct tick_pair *p, uint64_t period_ns, uint64_t random);

/* Tells that all events begin now, or a moment ago. */
void tick_pair_begin(struct tick_pair *p, uint64_t now_ns);

/* Whether it is time to draw new periods. */
bool tick_pair_is_old(const struct tick_pair *p, uint64_t now_ns);

/* Draws new periods and sets the events to them; fds: of the halves, which tick. */
void tick_pair_turn(struct tick_pair *p, const int fds[static TICK_PAIR_COUNT]);

/*
 * Returns how many ticks were due from the first one that came to the last, both included; 0:
 * none came. Call it in each round, before tick_pair_turn(). It leaves out ticks that were due
 * during a turn, and those that may still come late.
 */
uint64_t tick_pair_due(struct tick_pair *p, uint64_t first_ns, uint64_t last_ns);

/* --- inside, for tests ----------------------------------------------------------------------- */

/* Draws the periods that a turn at now_ns sets. */
void tick_pair_draw(struct tick_pair *p, uint64_t now_ns, uint64_t ret_ns[static TICK_PAIR_COUNT]);

/* Tells that a half has that period since some time between the two. */
void tick_pair_set(struct tick_pair *p, size_t half, uint64_t period_ns, uint64_t least_ns,
		   uint64_t most_ns);

#endif
