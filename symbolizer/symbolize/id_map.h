/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ID_MAP_H
#define RAWSTACK_ID_MAP_H
/*
 * Small numbers for pairs of numbers: what interning is for byte strings, at a tenth of its cost.
 * Emptied in no time, so that one map serves many requests. One thread at a time. Keys may come
 * from strangers: the hash is seeded per process.
 */
#include "base.h"

struct id_map_slot {
	uint64_t a;
	uint32_t b, value, epoch;
};

struct id_map {
	struct id_map_slot *slots; /* open addressing; used when of the map's epoch */
	size_t slot_count, count;
	size_t max; /* of count */
	uint32_t epoch;
};

#define ID_MAP_INIT(max_count)     \
	{                          \
		.max = (max_count) \
	}

size_t id_map_hash(uint64_t a, uint32_t b);

/* For many keys in a row: fetches the slot of a key with this hash, some keys ahead of its use. */
static inline void id_map_fetch(const struct id_map *m, size_t hash)
{
	if (m->slot_count)
		__builtin_prefetch(&m->slots[hash & (m->slot_count - 1)]);
}

/* The value of a key, whose hash the caller has; NULL when it is not there. Valid until the next
 * id_map_add(). */
uint32_t *id_map_find(const struct id_map *m, size_t hash, uint64_t a, uint32_t b);

/* The same, adding a key that is not there with value 0. NULL when the ceiling or memory is
 * reached. *ret_new says whether it was added. */
uint32_t *id_map_add(struct id_map *m, size_t hash, uint64_t a, uint32_t b, bool *ret_new);

void id_map_reset(struct id_map *m); /* empties it, keeps the memory */
void id_map_done(struct id_map *m);

#endif
