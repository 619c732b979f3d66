/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEST_RSYM_RANDOM_H
#define RAWSTACK_TEST_RSYM_RANDOM_H
/* Numbers that look random and are the same in each run: splitmix64. */
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

#endif
