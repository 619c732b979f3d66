/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ARENA_H
#define RAWSTACK_ARENA_H
/*
 * Allocates memory that is freed together: of a request, a reply, a unit of DWARF. Nothing in an
 * arena is freed singly; its owner resets or frees the whole. A ceiling bounds it. For one thread
 * at a time.
 */
#include "base.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used; /* bytes handed out, rounding included */
	size_t max;
};

#define ARENA_INIT(max_bytes)      \
	{                          \
		.max = (max_bytes) \
	}

/* Returns len zeroed bytes, aligned to 16, or NULL at the ceiling or if memory is out. Valid until
 * the reset. */
void *arena_alloc(struct arena *a, size_t len) _must_check_;
void *arena_take(struct arena *a, size_t len) _must_check_; /* the same, not zeroed */
void *arena_array(struct arena *a, size_t count, size_t size) _must_check_;

/* Returns a copy of len bytes, followed by a NUL; NULL as above. */
char *arena_copy(struct arena *a, const void *p, size_t len) _must_check_;

/* Forgets everything; keeps one block for the next use. */
void arena_reset(struct arena *a);
void arena_done(struct arena *a);

#endif
