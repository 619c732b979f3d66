/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INTERN_H
#define RAWSTACK_INTERN_H
/*
 * Numbers byte strings: equal strings get equal numbers, 0, 1, 2, ... in order of first sight. It
 * serves string tables and the dictionaries of modules, stacks and locations, because a key is any
 * run of bytes. Bounded in count and bytes. For one thread at a time. The hash is seeded per
 * process, so that chosen keys cannot make it slow.
 */
#include "base.h"

struct intern {
	struct intern_entry *entries; /* in order of id */
	size_t count, entries_cap;
	struct intern_slot *slots; /* open addressing, a power of two of them */
	size_t slot_count;
	uint8_t *data; /* the keys, one behind the other */
	size_t data_len, data_cap;
	size_t max_count, max_data;
	bool no_memory; /* memory was out in an add; a ceiling does not set it */
};

#define INTERN_INIT(max_entries, max_bytes)                         \
	{                                                           \
		.max_count = (max_entries), .max_data = (max_bytes) \
	}
#define INTERN_FULL UINT32_MAX

/* Returns the id of the key, new or known, or INTERN_FULL at a ceiling or if memory is out.
 * *ret_new, if given, says whether it is new. */
uint32_t intern_add(struct intern *in, const void *key, size_t len, bool *ret_new);

/* Do the same for many keys in a row. A loop hashes and fetches some keys ahead of their use,
 * because otherwise each key waits for memory. The hash is valid in this process only. */
uint32_t intern_hash(const void *key, size_t len);
/* Returns the same hash with all its 64 bits. The seed is secret, so nobody can choose bytes with
 * equal hashes. */
uint64_t intern_digest(const void *key, size_t len);
void intern_fetch(const struct intern *in, uint32_t hash);
uint32_t intern_add_hashed(struct intern *in, uint32_t hash, const void *key, size_t len,
			   bool *ret_new);

struct intern_key {
	const void *p;
	size_t len;
};

/* Adds each key in order and writes the ids to ret_ids. A lookup in a table that is larger than the
 * processor's caches waits for memory three times; this function waits for all keys at once. The
 * keys do not lie in `in`. */
void intern_add_many(struct intern *in, const struct intern_key *keys, size_t count,
		     uint32_t *ret_ids);

/* Returns the id of a known key, or INTERN_FULL. Adds nothing. */
uint32_t intern_find(const struct intern *in, const void *key, size_t len);

/* Returns the bytes of an id below count, borrowed until the next intern_add(). */
const void *intern_get(const struct intern *in, uint32_t id, size_t *ret_len);

void intern_reset(struct intern *in); /* removes all keys, keeps the memory */
void intern_done(struct intern *in);

#endif
