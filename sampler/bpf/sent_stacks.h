/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SENT_STACKS_H
#define RAWSTACK_SENT_STACKS_H
/*
 * Stacks that the BPF program has sent, by their hash: the next time it sends the hash alone. What
 * it may refer to is never forgotten under it; so once the table is full, it is asked to send all
 * of every stack again, and only when no reference can be under way any more the table begins anew.
 * One thread.
 */
#include "arena.h"

struct sent_stack {
	uint64_t hash; /* 0: free */
	const uint64_t *pcs;
	size_t len; /* bytes */
};

enum sent_stacks_state {
	SENT_STACKS_IN_USE,
	SENT_STACKS_DRAINING, /* hashes may still come, but no new ones are made */
};

struct sent_stacks {
	struct sent_stack *rows;
	size_t count, cap;
	struct arena pcs;
	enum sent_stacks_state state;
	unsigned int polls; /* since it drains */
	uint64_t unknown;   /* hashes of nothing that is here: cannot be */
};

void sent_stacks_init(struct sent_stacks *t);
void sent_stacks_done(struct sent_stacks *t);

/* Returns the stack of that hash; NULL: none. It is valid for at least two calls of
 * sent_stacks_poll() that are EVENTS_GRACE_NS apart. */
const struct sent_stack *sent_stacks_find(const struct sent_stacks *t, uint64_t hash);

/* Keeps a copy of a stack. NULL: out of memory, or another stack has that hash, which then has
 * none. */
const struct sent_stack *sent_stacks_add(struct sent_stacks *t, uint64_t hash, const void *pcs,
					 size_t len);

/* Call it once in each round, after all that was sent is taken in. True: the table is empty, and
 * hashes must begin from a new seed. */
bool sent_stacks_poll(struct sent_stacks *t);

#endif
