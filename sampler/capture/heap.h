/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HEAP_H
#define RAWSTACK_HEAP_H
/*
 * Keeps the resident memory of the capturer from creeping up while its tables grow to their limits.
 * The heap, which all threads share, has two sizes only: room for a quiet host, taken at the start,
 * and room for a busy host, taken as a whole when the first does not suffice. Neither is given
 * back; memory that a burst needed beyond them is.
 */
#include <stddef.h>

struct heap {
	const char *end; /* of the first room */
	size_t rest_len; /* of the second, 0: there is none or it is taken */
};

/* Takes `first` bytes now. Call it before threads are started, and after forks of processes that
 * shall stay small. */
void heap_prefault(struct heap *h, size_t first, size_t all);

/* Takes the rest if the first room is full. It takes a few instructions; call it often. */
void heap_poll(struct heap *h);

#endif
