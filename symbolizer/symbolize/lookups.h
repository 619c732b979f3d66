/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOOKUPS_H
#define RAWSTACK_LOOKUPS_H
/*
 * Sorts the addresses of one batch by module and then by address, and merges equal ones. So each
 * page of a table is touched once, and rsym_lookup_batch() reads on from one address to the next.
 *
 *	lookups_reset(l, n); lookups_add(l, ...)...; lookups_sort(l);
 *	for (g = l->groups; g < l->groups + l->group_count; g++)
 *		lookups_run(l, g, table_of(g->module));
 *
 * The number of locations and LOOKUPS_FRAMES bound the memory, which stays for the next batch. For
 * one thread at a time.
 */
#include "rsym.h"

/* The most frames of one batch in memory. The caller handles the addresses beyond. So many frames
 * do not fit a reply, unless most of them are the same. */
#define LOOKUPS_FRAMES (UINT64_C(1) << 18)

#define LOOKUPS_NONE UINT32_MAX

struct lookup_item {
	uint64_t vaddr;
	uint32_t module, location;
};

/* The addresses [first, end) of one module. */
struct lookup_group {
	uint32_t module, first, end;
};

struct lookup_answer {
	uint32_t first, count; /* range in frames */
	bool done;             /* false: there was no room for it */
	uint8_t status;        /* for the caller */
};

struct lookups {
	struct lookup_item *items, *spare;
	size_t count, items_cap, spare_cap;
	/* One row for each distinct address, in rising order. */
	uint64_t *vaddrs;
	uint32_t *ends; /* for rsym_lookup_batch() */
	struct lookup_answer *answers;
	size_t address_count, vaddrs_cap, ends_cap, answers_cap;
	/* For each location, the row of its address, or LOOKUPS_NONE if it was not added. */
	uint32_t *address_of;
	size_t address_of_cap;
	struct lookup_group *groups;
	size_t group_count, groups_cap;
	struct rsym_frame *frames;
	size_t frame_count, frames_cap;
};

/* Empties the lookups, for a batch of location_count locations. Returns false if memory is out. */
bool lookups_reset(struct lookups *l, size_t location_count);
void lookups_done(struct lookups *l);
size_t lookups_memory(const struct lookups *l); /* bytes held */

/* Returns false if memory is out. location is below location_count and comes at most once. */
bool lookups_add(struct lookups *l, uint32_t module, uint64_t vaddr, uint32_t location);

/* Fills the addresses, the answers (none of them done) and the groups. Returns false if memory is
 * out. */
bool lookups_sort(struct lookups *l);

/* Fills the answers of a group. Returns false if memory is out. */
bool lookups_run(struct lookups *l, const struct lookup_group *g, const struct rsym *t);

#endif
