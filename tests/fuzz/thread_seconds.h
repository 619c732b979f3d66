/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_THREAD_SECONDS_H
#define RAWSTACK_THREAD_SECONDS_H
/* What this thread has taken of the processor, for fuzzers that hold the work to a bound. */
#include <time.h>

static inline double thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
