/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_table.h"

#include <string.h>

#include "limits.h"

enum {
	ROWS_FULL = 6144,   /* half as many again as each CPU's table in sampler.bpf.c */
	LEN_FULL = 2 << 20, /* bytes of addresses */
	ROWS_MAX = 1 << 20, /* while it drains: what a ring can hold, at most */
	LEN_MAX = 64 << 20,
	DRAIN_POLLS = 8, /* 20 ms apart at least, so that events of before are handled */
};

void stack_table_init(struct stack_table *t)
{
	*t = (struct stack_table){.pcs = ARENA_INIT(LEN_MAX)};
}

void stack_table_done(struct stack_table *t)
{
	free(t->rows);
	arena_done(&t->pcs);
	stack_table_init(t);
}

static struct stack_row *stack_row_of(const struct stack_table *t, uint64_t hash)
{
	size_t mask = t->cap - 1, i = hash & mask;

	while (t->rows[i].hash && t->rows[i].hash != hash)
		i = (i + 1) & mask;
	return &t->rows[i];
}

const struct stack_row *stack_table_find(const struct stack_table *t, uint64_t hash)
{
	const struct stack_row *row = t->cap ? stack_row_of(t, hash) : NULL;

	return row && row->hash ? row : NULL;
}

static bool grow_stacks(struct stack_table *t)
{
	struct stack_table next = {.cap = t->cap ? t->cap * 2 : 256};

	if (next.cap > 2 * (size_t)ROWS_MAX)
		return false;
	next.rows = calloc(next.cap, sizeof(*next.rows));
	if (!next.rows)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->rows[i].hash)
			*stack_row_of(&next, t->rows[i].hash) = t->rows[i];
	free(t->rows);
	t->rows = next.rows;
	t->cap = next.cap;
	return true;
}

const struct stack_row *stack_table_add(struct stack_table *t, uint64_t hash, const void *pcs,
					size_t len)
{
	struct stack_row *row;
	char *copy;

	if (!hash || (2 * (t->count + 1) > t->cap && !grow_stacks(t)))
		return NULL;
	row = stack_row_of(t, hash);
	if (row->hash)
		return row->len == len && !memcmp(row->pcs, pcs, len) ? row : NULL;
	copy = arena_alloc(&t->pcs, len ? len : 1);
	if (!copy)
		return NULL;
	memcpy(copy, pcs, len);
	*row = (struct stack_row){hash, (const uint64_t *)(const void *)copy, len};
	t->count++;
	return row;
}

bool stack_table_poll(struct stack_table *t)
{
	if (t->state == STACK_TABLE_IN_USE) {
		if (t->count >= ROWS_FULL || t->pcs.used >= LEN_FULL) {
			t->state = STACK_TABLE_DRAINING;
			t->polls = 0;
		}
		return false;
	}
	if (++t->polls < DRAIN_POLLS)
		return false;
	/* Memory that a burst took is given back. */
	free(t->rows);
	t->rows = NULL;
	t->count = t->cap = 0;
	arena_reset(&t->pcs);
	t->state = STACK_TABLE_IN_USE;
	return true;
}
