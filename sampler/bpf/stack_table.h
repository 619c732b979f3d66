/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STACK_TABLE_H
#define RAWSTACK_STACK_TABLE_H
/*
 * Stacks that the BPF program has sent, by their hash: the next time it sends the hash alone. What
 * it may refer to is never forgotten under it; so once the table is full, it is asked to send all
 * of every stack again, and only when no reference can be under way any more the table begins anew.
 * One thread.
 */
#include "arena.h"

struct stack_row {
	uint64_t hash; /* 0: free */
	const uint64_t *pcs;
	size_t len; /* bytes */
};

enum stack_table_state {
	STACK_TABLE_IN_USE,
	STACK_TABLE_DRAINING, /* hashes may still come, but no new ones are made */
};

struct stack_table {
	struct stack_row *rows;
	size_t count, cap;
	struct arena pcs;
	enum stack_table_state state;
	unsigned int polls; /* since it drains */
	uint64_t unknown;   /* hashes of nothing that is here: cannot be */
};

void stack_table_init(struct stack_table *t);
void stack_table_done(struct stack_table *t);

/* Returns the stack of that hash; NULL: none. It is valid for at least two calls of
 * stack_table_poll() that are EVENTS_GRACE_NS apart. */
const struct stack_row *stack_table_find(const struct stack_table *t, uint64_t hash);

/* Keeps a copy of a stack. NULL: out of memory, or another stack has that hash, which then has
 * none. */
const struct stack_row *stack_table_add(struct stack_table *t, uint64_t hash, const void *pcs,
					size_t len);

/* Call it once in each round, after all that was sent is taken in. True: the table is empty, and
 * hashes must begin from a new seed. */
bool stack_table_poll(struct stack_table *t);

#endif
