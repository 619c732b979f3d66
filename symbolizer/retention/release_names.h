/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RELEASE_NAMES_H
#define RAWSTACK_RELEASE_NAMES_H
/*
 * Knows the newest versions of each name, for one rule. A version is as new as the last upload of
 * any of its binaries. Names and versions are remembered by a hash that strangers cannot choose.
 *
 * Memory is bounded by LIMIT_RELEASE_CELLS: if there are more names than fit, a round looks only at
 * those whose hash ends in certain bits, and the rounds after it at the others.
 *
 * What a round collects is judged in the next one: release_names_turn() is called between the two.
 * For one thread.
 */
#include "base.h"

struct release_names;

/* Keeps so many versions of each name; 1 to LIMIT_RELEASE_CELLS. Returns NULL if memory is out. */
struct release_names *release_names_new(uint64_t versions) _must_check_;
void release_names_free(struct release_names *n);

struct release_key {
	const void *name, *version;
	size_t name_len, version_len;
};

/* Collects one binary. */
void release_names_note(struct release_names *n, const struct release_key *key,
			uint64_t uploaded_ns);

/* Returns whether the last complete round found enough versions of the name that are newer than
 * this binary, of another version, is. */
bool release_names_is_old(const struct release_names *n, const struct release_key *key,
			  uint64_t uploaded_ns);

/* Ends a round. If it was complete, what it collected is judged from now on. */
void release_names_turn(struct release_names *n, bool is_complete);

#endif
