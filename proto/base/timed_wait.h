/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TIMED_WAIT_H
#define RAWSTACK_TIMED_WAIT_H
/*
 * Waits on condition variables by the monotonic clock. pthread's default is the wall clock, by
 * which a wait of a minute lasts a day if the clock is set back.
 */
#include <pthread.h>
#include <time.h>

#include "base.h"

static inline void timed_wait_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* Returns the end of a wait for pthread_cond_timedwait() on a condition of timed_wait_init(). */
static inline struct timespec timed_wait_until(uint64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

#endif
