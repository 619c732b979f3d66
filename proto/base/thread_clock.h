/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_THREAD_CLOCK_H
#define RAWSTACK_THREAD_CLOCK_H
/* Returns the CPU time of the calling thread. Work is bounded by it because it does not count what
 * others do on the processor. */
#include <stdint.h>
#include <time.h>

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
