/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ENCLOSING_SCOPES_H
#define RAWSTACK_ENCLOSING_SCOPES_H
/*
 * Finds the namespaces and classes around a type. A DIE has no reference to its parent, so a unit
 * is walked once when it is first looked up, and each namespace or class is kept as a range of
 * offsets. A struct is for one thread at a time.
 */
#include "die_lookup.h"
#include "intern.h"

/* The units that were looked up. */
struct enclosing_scopes {
	struct intern seen; /* file and offset of each unit */
	struct enclosing_unit *units;
	struct enclosing_range *ranges;
	size_t units_cap, range_count, ranges_cap;
};

void enclosing_scopes_init(struct enclosing_scopes *x);
void enclosing_scopes_done(struct enclosing_scopes *x);

/* Stores the offsets of the namespaces and classes around a DIE, nearest first, up to the nearest
 * function around it. Returns their number, at most cap. May evict cached abbreviation tables. */
size_t enclosing_scopes_find(struct enclosing_scopes *x, struct die_lookup *lookup,
			     const struct die *d, uint64_t *ret, size_t cap);

#endif
