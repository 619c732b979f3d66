/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HEAP_H
#define RAWSTACK_HEAP_H
/*
 * Keeps the resident memory of the capturer from creeping up while its tables grow to their limits.
 * The heap, which all threads share, has only two sizes: room for a quiet host, which is taken at
 * the start, and room for a busy host, which is taken as a whole when the first does not suffice.
 * Neither is given back, but memory that a burst needed beyond them is.
 */
#include <stddef.h>

struct heap {
	const char *end; /* end of the first room */
	size_t rest_len; /* length of the second room; 0: there is none, or it is taken */
};

/* Takes `first` bytes now; heap_poll() takes the rest of `all`. Call it before threads are started,
 * and after processes were forked that shall stay small. */
void heap_prefault(struct heap *h, size_t first, size_t all);

/* Takes the second room if the first one is full. It costs a few instructions; call it often. */
void heap_poll(struct heap *h);

#endif
