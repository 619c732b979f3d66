/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ID_MAP_H
#define RAWSTACK_ID_MAP_H
/*
 * Maps pairs of numbers to small numbers: interning for numbers, at a tenth of the cost of
 * interning byte strings. Resetting takes constant time, so that one map serves many requests. For
 * one thread at a time. Strangers may choose the keys, so the hash is seeded per process.
 */
#include "base.h"

struct id_map_slot {
	uint64_t a;
	uint32_t b, value, epoch;
};

struct id_map {
	struct id_map_slot *slots; /* open addressing; a slot is in use if it has the map's epoch */
	size_t slot_count, count;
	size_t max; /* the ceiling of count */
	uint32_t epoch;
};

#define ID_MAP_INIT(max_count)     \
	{                          \
		.max = (max_count) \
	}

size_t id_map_hash(uint64_t a, uint32_t b);

/* Prefetches the slot of a key with this hash. A loop over many keys calls it some keys ahead. */
static inline void id_map_fetch(const struct id_map *m, size_t hash)
{
	if (m->slot_count)
		__builtin_prefetch(&m->slots[hash & (m->slot_count - 1)]);
}

/* Returns the value of a key, or NULL if it is not there. The caller passes the key's hash. The
 * pointer is valid until the next id_map_add(). */
uint32_t *id_map_find(const struct id_map *m, size_t hash, uint64_t a, uint32_t b);

/* Does the same, and adds a missing key with value 0; *ret_new says so. Returns NULL at the ceiling
 * or if memory is out. */
uint32_t *id_map_add(struct id_map *m, size_t hash, uint64_t a, uint32_t b, bool *ret_new);

void id_map_reset(struct id_map *m); /* empties the map, keeps its memory */
void id_map_done(struct id_map *m);

#endif
