/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INTERN_H
#define RAWSTACK_INTERN_H
/*
 * Gives equal byte strings equal small numbers: 0, 1, 2, ... in order of first sight. Serves string
 * tables, dictionaries of modules, stacks and locations alike: a key is any run of bytes.
 * Bounded in count and bytes. One thread at a time. Hash values are seeded per process, so that
 * chosen keys cannot make it slow.
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
	bool no_memory; /* an add found none; a ceiling leaves it as it is */
};

#define INTERN_INIT(max_entries, max_bytes)                         \
	{                                                           \
		.max_count = (max_entries), .max_data = (max_bytes) \
	}
#define INTERN_FULL UINT32_MAX

/* The id of the key, new or known; INTERN_FULL when a ceiling or memory is reached. *ret_new, if
 * given, says whether it was new. */
uint32_t intern_add(struct intern *in, const void *key, size_t len, bool *ret_new);

/* The same for many keys in a row, whose slots are fetched some keys ahead of their use: each is a
 * wait for memory else. The hash holds in this process only. */
uint32_t intern_hash(const void *key, size_t len);
void intern_fetch(const struct intern *in, uint32_t hash);
uint32_t intern_add_hashed(struct intern *in, uint32_t hash, const void *key, size_t len,
			   bool *ret_new);

struct intern_key {
	const void *p;
	size_t len;
};

/* intern_add() of each, in order, with the ids to ret_ids: a look at a table that no cache of the
 * processor holds waits for memory three times, and these wait for all of them at once. Keys are
 * not in `in`. */
void intern_add_many(struct intern *in, const struct intern_key *keys, size_t count,
		     uint32_t *ret_ids);

/* The id of a known key, INTERN_FULL when it is not there. Adds nothing. */
uint32_t intern_find(const struct intern *in, const void *key, size_t len);

/* The bytes of an id below count; borrowed until the next intern_add(). */
const void *intern_get(const struct intern *in, uint32_t id, size_t *ret_len);

void intern_reset(struct intern *in); /* empties it, keeps the memory */
void intern_done(struct intern *in);

#endif
