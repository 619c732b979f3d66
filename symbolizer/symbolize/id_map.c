/* SPDX-License-Identifier: Apache-2.0 */
#include "id_map.h"

#include <string.h>
#include <sys/random.h>

static uint64_t seed[2];

__attribute__((constructor)) static void choose_seed(void)
{
	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed[0] = (uintptr_t)&seed;
	seed[1] |= UINT64_C(1) << 63; /* its XOR with b is never 0 */
}

size_t id_map_hash(uint64_t a, uint32_t b)
{
	__extension__ unsigned __int128 product =
		(unsigned __int128)(a ^ seed[0]) * (seed[1] ^ (uint64_t)b << 20);

	return (size_t)((uint64_t)(product >> 64) ^ (uint64_t)product);
}

/* Returns the slot that holds the key, or the free one where it belongs. */
static struct id_map_slot *id_slot_of(const struct id_map *m, size_t hash, uint64_t a, uint32_t b)
{
	size_t mask = m->slot_count - 1, i = hash & mask;

	while (m->slots[i].epoch == m->epoch && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & mask;
	return &m->slots[i];
}

static bool grow_id_map(struct id_map *m)
{
	struct id_map next = *m;

	next.slot_count = m->slot_count ? m->slot_count * 2 : 256;
	next.epoch = 1;
	next.slots = calloc(next.slot_count, sizeof(next.slots[0]));
	if (!next.slots)
		return false;
	for (size_t i = 0; i < m->slot_count; i++) {
		const struct id_map_slot *from = &m->slots[i];
		struct id_map_slot *to;

		if (from->epoch != m->epoch)
			continue;
		to = id_slot_of(&next, id_map_hash(from->a, from->b), from->a, from->b);
		*to = *from;
		to->epoch = next.epoch;
	}
	free(m->slots);
	*m = next;
	return true;
}

uint32_t *id_map_find(const struct id_map *m, size_t hash, uint64_t a, uint32_t b)
{
	struct id_map_slot *s;

	if (!m->count)
		return NULL;
	s = id_slot_of(m, hash, a, b);
	return s->epoch == m->epoch ? &s->value : NULL;
}

uint32_t *id_map_add(struct id_map *m, size_t hash, uint64_t a, uint32_t b, bool *ret_new)
{
	struct id_map_slot *s = NULL;

	*ret_new = false;
	if (m->slot_count) {
		s = id_slot_of(m, hash, a, b);
		if (s->epoch == m->epoch)
			return &s->value;
	}
	if (m->count == m->max)
		return NULL;
	/* The map grows when five eighths of its slots are in use. */
	if (!s || 8 * (m->count + 1) > 5 * m->slot_count) {
		if (!grow_id_map(m))
			return NULL;
		s = id_slot_of(m, hash, a, b);
	}
	*s = (struct id_map_slot){a, b, 0, m->epoch};
	m->count++;
	*ret_new = true;
	return &s->value;
}

void id_map_reset(struct id_map *m)
{
	m->count = 0;
	if (m->slots && ++m->epoch == 0) {
		memset(m->slots, 0, m->slot_count * sizeof(m->slots[0]));
		m->epoch = 1;
	}
}

void id_map_done(struct id_map *m)
{
	free(m->slots);
	*m = (struct id_map)ID_MAP_INIT(m->max);
}
