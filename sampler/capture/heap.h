/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HEAP_H
#define RAWSTACK_HEAP_H
/*
 * How much memory the capturer occupies. Its tables grow while they fill, each to its limit. So
 * that what is resident does not creep up with them, there are two sizes only, of one heap that all
 * threads share: room for a quiet host, taken at the start, and room for a busy one, taken as a
 * whole once the first does not suffice. Neither is given back; what a burst needed beyond that is.
 */
#include <stddef.h>

struct heap {
	const char *end; /* of the first room */
	size_t rest_len; /* of the second, 0: there is none or it is taken */
};

/* Takes `first` bytes now. Before threads are made, behind forks of processes that shall stay
 * small. */
void heap_prefault(struct heap *h, size_t first, size_t all);

/* Takes the rest if it is time. Some instructions, to be called often. */
void heap_poll(struct heap *h);

#endif
