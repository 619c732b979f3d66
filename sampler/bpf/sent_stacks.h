/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SENT_STACKS_H
#define RAWSTACK_SENT_STACKS_H
/*
 * Keeps the stacks that the BPF program has sent, by their hash, because the next time it sends the
 * hash alone. A stack that the program may still refer to must not be dropped. So when the table is
 * full, the program is made to send every stack whole, and the table begins anew only when no
 * reference can be under way any more. A table is for one thread.
 */
#include "arena.h"

struct sent_stack {
	uint64_t hash; /* 0: free */
	const uint64_t *pcs;
	size_t len; /* bytes */
};

enum sent_stacks_state {
	SENT_STACKS_IN_USE,
	SENT_STACKS_DRAINING, /* old hashes may still come, but the program makes no new ones */
};

struct sent_stacks {
	struct sent_stack *rows;
	size_t count, cap;
	struct arena pcs;
	enum sent_stacks_state state;
	unsigned int polls; /* number of polls while it drains */
	uint64_t unknown;   /* references to stacks that are not here, which never happens */
};

void sent_stacks_init(struct sent_stacks *t);
void sent_stacks_done(struct sent_stacks *t);

/* Returns the stack of that hash, or NULL if there is none. It is valid for at least two calls of
 * sent_stacks_poll() that are EVENTS_GRACE_NS apart. */
const struct sent_stack *sent_stacks_find(const struct sent_stacks *t, uint64_t hash);

/* Keeps a copy of a stack and returns it, or NULL if memory is short or another stack has that
 * hash. */
const struct sent_stack *sent_stacks_add(struct sent_stacks *t, uint64_t hash, const void *pcs,
					 size_t len);

/* Call it once in each round, after everything that was sent is read. Returns true if it emptied
 * the table, so that hashes must begin from a new seed. */
bool sent_stacks_poll(struct sent_stacks *t);

#endif
