/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ARENA_H
#define RAWSTACK_ARENA_H
/*
 * Memory of one lifetime: a request, a reply, one unit of DWARF. Nothing in it is freed singly; the
 * owner resets or frees the whole. Bounded by a ceiling. One thread at a time.
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

/* 16-byte aligned and zeroed; NULL when the ceiling or memory is reached. Valid until reset. */
void *arena_alloc(struct arena *a, size_t len) _must_check_;
void *arena_take(struct arena *a, size_t len) _must_check_; /* the same, not zeroed */
void *arena_array(struct arena *a, size_t count, size_t size) _must_check_;

/* A copy of len bytes, with a NUL behind it. */
char *arena_copy(struct arena *a, const void *p, size_t len) _must_check_;

/* Forgets everything; keeps one block for the next use. */
void arena_reset(struct arena *a);
void arena_done(struct arena *a);

#endif
