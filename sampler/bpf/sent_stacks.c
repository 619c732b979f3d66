/* SPDX-License-Identifier: Apache-2.0 */
#include "sent_stacks.h"

#include <string.h>

#include "limits.h"

enum {
	ROWS_FULL = 6144,   /* 24 CPUs with 256 stacks each (SAMPLER_SENT_BITS) */
	LEN_FULL = 2 << 20, /* bytes of addresses */
	LIMIT_SENT_STACKS =
		1 << 20, /* while the table drains: as many as a ring can hold at most */
	LIMIT_SENT_STACKS_LEN = 64 << 20,
	DRAIN_POLLS = 8, /* they are at least 20 ms apart, so earlier events are handled by then */
};

void sent_stacks_init(struct sent_stacks *t)
{
	*t = (struct sent_stacks){.pcs = ARENA_INIT(LIMIT_SENT_STACKS_LEN)};
}

void sent_stacks_done(struct sent_stacks *t)
{
	free(t->rows);
	arena_done(&t->pcs);
	sent_stacks_init(t);
}

static struct sent_stack *sent_stack_slot(const struct sent_stacks *t, uint64_t hash)
{
	size_t mask = t->cap - 1, i = hash & mask;

	while (t->rows[i].hash && t->rows[i].hash != hash)
		i = (i + 1) & mask;
	return &t->rows[i];
}

const struct sent_stack *sent_stacks_find(const struct sent_stacks *t, uint64_t hash)
{
	const struct sent_stack *row = t->cap ? sent_stack_slot(t, hash) : NULL;

	return row && row->hash ? row : NULL;
}

static bool grow_stacks(struct sent_stacks *t)
{
	struct sent_stacks next = {.cap = t->cap ? t->cap * 2 : 256};

	if (next.cap > 2 * (size_t)LIMIT_SENT_STACKS)
		return false;
	next.rows = calloc(next.cap, sizeof(*next.rows));
	if (!next.rows)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->rows[i].hash)
			*sent_stack_slot(&next, t->rows[i].hash) = t->rows[i];
	free(t->rows);
	t->rows = next.rows;
	t->cap = next.cap;
	return true;
}

const struct sent_stack *sent_stacks_add(struct sent_stacks *t, uint64_t hash, const void *pcs,
					 size_t len)
{
	struct sent_stack *row;
	char *copy;

	if (!hash || (2 * (t->count + 1) > t->cap && !grow_stacks(t)))
		return NULL;
	row = sent_stack_slot(t, hash);
	if (row->hash)
		return row->len == len && !memcmp(row->pcs, pcs, len) ? row : NULL;
	copy = arena_alloc(&t->pcs, len ? len : 1);
	if (!copy)
		return NULL;
	memcpy(copy, pcs, len);
	*row = (struct sent_stack){hash, (const uint64_t *)(const void *)copy, len};
	t->count++;
	return row;
}

bool sent_stacks_poll(struct sent_stacks *t)
{
	if (t->state == SENT_STACKS_IN_USE) {
		if (t->count >= ROWS_FULL || t->pcs.used >= LEN_FULL) {
			t->state = SENT_STACKS_DRAINING;
			t->polls = 0;
		}
		return false;
	}
	if (++t->polls < DRAIN_POLLS)
		return false;
	/* Give back memory that a burst took. */
	free(t->rows);
	t->rows = NULL;
	t->count = t->cap = 0;
	arena_reset(&t->pcs);
	t->state = SENT_STACKS_IN_USE;
	return true;
}
