/* SPDX-License-Identifier: Apache-2.0 */
#include "late_jit.h"

#include <string.h>

enum {
	SLOTS_MIN = 64
};

static uint64_t *late_jit_slot_of(const struct late_jit *t, uint64_t pc)
{
	/* Fibonacci hashing: places of a program differ in their middle bits. */
	size_t i = (size_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->slot_count - 1);

	while (t->slots[i] && t->slots[i] != pc)
		i = (i + 1) & (t->slot_count - 1);
	return &t->slots[i];
}

static bool grow_slots(struct late_jit *t)
{
	struct late_jit grown = {.slot_count = t->slot_count ? 2 * t->slot_count : SLOTS_MIN};

	if (2 * t->count < t->slot_count)
		return true;
	grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i])
			*late_jit_slot_of(&grown, t->slots[i]) = t->slots[i];
	free(t->slots);
	t->slots = grown.slots;
	t->slot_count = grown.slot_count;
	return true;
}

bool late_jit_put(struct late_jit *t, uint64_t pc)
{
	uint64_t *slot;

	if (!grow_slots(t))
		return false;
	slot = late_jit_slot_of(t, pc);
	if (*slot)
		return false;
	*slot = pc;
	t->count++;
	return true;
}

void late_jit_answer(struct jit *j, int rc, const struct perf_map_row *rows, size_t count)
{
	struct late_jit *t = j->late;

	if (!t || !t->is_under_way || t->is_answered)
		return;
	t->is_answered = true;
	t->rc = rc;
	t->row_count = 0;
	t->rows = rc || !count ? NULL : malloc(count * sizeof(*rows));
	if (!t->rows)
		return;
	memcpy(t->rows, rows, count * sizeof(*rows));
	t->row_count = count;
}
