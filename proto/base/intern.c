/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct intern_entry {
	size_t off;
	uint32_t len;
};

/* The slot holds the hash, so that nearly all different keys are told apart without reading them:
 * each such read waits for memory. */
struct intern_slot {
	uint32_t hash;
	uint32_t next_id; /* id + 1; 0 is free */
};

uint64_t intern_digest(const void *key, size_t len)
{
	static uint64_t seed;
	uint64_t s = __atomic_load_n(&seed, __ATOMIC_RELAXED);

	if (!s) {
		uint64_t zero = 0;

		if (getrandom(&s, sizeof(s), GRND_NONBLOCK) != (ssize_t)sizeof(s))
			s = (uintptr_t)&seed;
		s |= 1;
		/* The first thread sets the seed; the others take its value. */
		if (!__atomic_compare_exchange_n(&seed, &zero, s, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			s = zero;
	}
	return XXH3_64bits_withSeed(key, len, s);
}

uint32_t intern_hash(const void *key, size_t len)
{
	return (uint32_t)intern_digest(key, len);
}

static bool slot_matches(const struct intern *in, const struct intern_slot *slot, uint32_t hash,
			 const void *key, size_t len)
{
	const struct intern_entry *e;

	if (slot->hash != hash)
		return false;
	e = &in->entries[slot->next_id - 1];
	return e->len == len && (len == 0 || memcmp(in->data + e->off, key, len) == 0);
}

/* Returns the slot that holds the key, or the free one where it belongs. */
static size_t slot_of_hash(const struct intern *in, uint32_t hash, const void *key, size_t len)
{
	size_t mask = in->slot_count - 1, i = hash & mask;

	while (in->slots[i].next_id && !slot_matches(in, &in->slots[i], hash, key, len))
		i = (i + 1) & mask;
	return i;
}

static bool rehash_slots(struct intern *in)
{
	size_t next = in->slot_count ? in->slot_count * 2 : 64;
	struct intern_slot *slots = calloc(next, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t from = 0; from < in->slot_count; from++) {
		size_t i = in->slots[from].hash & (next - 1);

		if (!in->slots[from].next_id)
			continue;
		while (slots[i].next_id)
			i = (i + 1) & (next - 1);
		slots[i] = in->slots[from];
	}
	free(in->slots);
	in->slots = slots;
	in->slot_count = next;
	return true;
}

uint32_t intern_find(const struct intern *in, const void *key, size_t len)
{
	if (!in->slot_count)
		return INTERN_FULL;
	return in->slots[slot_of_hash(in, intern_hash(key, len), key, len)].next_id - 1;
}

void intern_fetch(const struct intern *in, uint32_t hash)
{
	if (in->slot_count)
		__builtin_prefetch(&in->slots[hash & (in->slot_count - 1)]);
}

/* Makes room for one more key, after which the keys are `want` bytes long. */
static bool make_intern_room(struct intern *in, size_t want)
{
	return GROW(in->data, &in->data_cap, want, in->max_data) &&
	       GROW(in->entries, &in->entries_cap, in->count + 1, in->max_count) &&
	       (2 * (in->count + 1) <= in->slot_count || rehash_slots(in));
}

uint32_t intern_add_hashed(struct intern *in, uint32_t hash, const void *key, size_t len,
			   bool *ret_new)
{
	const size_t slots = in->slot_count;
	size_t slot = 0, want;

	if (ret_new)
		*ret_new = false;
	if (in->slot_count) {
		slot = slot_of_hash(in, hash, key, len);
		if (in->slots[slot].next_id)
			return in->slots[slot].next_id - 1;
	}
	if (len > UINT32_MAX || in->count >= UINT32_MAX - 1 || in->count >= in->max_count ||
	    !CHECKED_ADD(in->data_len, len, &want) || want > in->max_data)
		return INTERN_FULL;
	if (!make_intern_room(in, want)) {
		in->no_memory = true;
		return INTERN_FULL;
	}
	if (2 * (in->count + 1) > slots) /* the slots were moved */
		slot = slot_of_hash(in, hash, key, len);
	in->entries[in->count] = (struct intern_entry){.off = in->data_len, .len = (uint32_t)len};
	if (len)
		memcpy(in->data + in->data_len, key, len);
	in->data_len = want;
	in->slots[slot] = (struct intern_slot){.hash = hash, .next_id = (uint32_t)++in->count};
	if (ret_new)
		*ret_new = true;
	return (uint32_t)in->count - 1;
}

uint32_t intern_add(struct intern *in, const void *key, size_t len, bool *ret_new)
{
	return intern_add_hashed(in, intern_hash(key, len), key, len, ret_new);
}

/* Keys per round: more than the loads that memory serves at once, and few enough that the
 * prefetched lines of the first keys are still cached. */
#define MANY       16
#define CACHE_LINE 64

/* Returns the entry that a key of this hash has, if it is known. The entry may be that of another
 * key of the same hash. */
static const struct intern_entry *likely_entry(const struct intern *in, uint32_t hash)
{
	size_t mask = in->slot_count - 1, i = hash & mask;

	while (in->slots[i].next_id && in->slots[i].hash != hash)
		i = (i + 1) & mask;
	return in->slots[i].next_id ? &in->entries[in->slots[i].next_id - 1] : NULL;
}

static void prefetch_entries(const struct intern *in, const uint32_t *hashes, size_t count)
{
	const struct intern_entry *entries[MANY];

	for (size_t i = 0; i < count; i++)
		intern_fetch(in, hashes[i]);
	for (size_t i = 0; i < count; i++) {
		entries[i] = likely_entry(in, hashes[i]);
		if (entries[i])
			__builtin_prefetch(entries[i]);
	}
	for (size_t i = 0; i < count; i++) {
		const uint8_t *key = entries[i] ? in->data + entries[i]->off : NULL;

		if (key && entries[i]->len) {
			__builtin_prefetch(key);
			__builtin_prefetch(key + (entries[i]->len - 1) % (2 * CACHE_LINE));
		}
	}
}

void intern_add_many(struct intern *in, const struct intern_key *keys, size_t count,
		     uint32_t *ret_ids)
{
	while (count) {
		size_t n = count < MANY ? count : MANY;
		uint32_t hashes[MANY];

		for (size_t i = 0; i < n; i++)
			hashes[i] = intern_hash(keys[i].p, keys[i].len);
		if (in->slot_count)
			prefetch_entries(in, hashes, n);
		for (size_t i = 0; i < n; i++)
			ret_ids[i] = intern_add_hashed(in, hashes[i], keys[i].p, keys[i].len, NULL);
		keys += n;
		ret_ids += n;
		count -= n;
	}
}

const void *intern_get(const struct intern *in, uint32_t id, size_t *ret_len)
{
	assert(id < in->count);
	if (ret_len)
		*ret_len = in->entries[id].len;
	return in->data ? in->data + in->entries[id].off : (const uint8_t *)"";
}

void intern_reset(struct intern *in)
{
	in->count = 0;
	in->data_len = 0;
	if (in->slot_count)
		memset(in->slots, 0, in->slot_count * sizeof(*in->slots));
}

void intern_done(struct intern *in)
{
	free(in->entries);
	free(in->slots);
	free(in->data);
	*in = (struct intern)INTERN_INIT(in->max_count, in->max_data);
}
