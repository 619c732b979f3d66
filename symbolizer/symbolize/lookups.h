/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOOKUPS_H
#define RAWSTACK_LOOKUPS_H
/*
 * The addresses of one batch, put in order: by module, then by address, equal ones once, so that
 * each page of a table is touched once and rsym_lookup_batch() reads on from one to the next.
 *
 *	lookups_reset(l); lookups_add(l, ...)...; lookups_sort(l);
 *	for (g = l->groups; g < l->groups + l->group_count; g++)
 *		lookups_run(l, g, table_of(g->module));
 *
 * Memory is bounded by the number of locations and by LOOKUPS_FRAMES; it stays for the next batch.
 * One thread at a time.
 */
#include "rsym.h"

/* Frames of one batch that are held. Addresses beyond are left to the caller: as many frames as
 * this do not fit a reply, unless most of them are the same. */
#define LOOKUPS_FRAMES (UINT64_C(1) << 18)

struct lookup_item {
	uint64_t vaddr;
	uint32_t module, location;
};

/* The addresses [first, end) of one module. */
struct lookup_group {
	uint32_t module, first, end;
};

struct lookup_answer {
	uint32_t first, count; /* of frames */
	bool done;             /* else it was left out */
	uint8_t status;        /* the caller's */
};

struct lookups {
	struct lookup_item *items, *spare;
	size_t count, items_cap, spare_cap;
	/* Rising addresses, one row each. */
	uint64_t *vaddrs;
	uint32_t *ends; /* for rsym_lookup_batch() */
	struct lookup_answer *answers;
	size_t address_count, vaddrs_cap, ends_cap, answers_cap;
	uint32_t *address_of; /* of each location that was added: its address */
	size_t address_of_cap;
	struct lookup_group *groups;
	size_t group_count, groups_cap;
	struct rsym_frame *frames;
	size_t frame_count, frames_cap;
};

void lookups_reset(struct lookups *l);
void lookups_done(struct lookups *l);
size_t lookups_memory(const struct lookups *l); /* bytes held */

/* False when memory is out. location: below LIMIT_BATCH_LOCATIONS, each at most once. */
bool lookups_add(struct lookups *l, uint32_t module, uint64_t vaddr, uint32_t location);

/* Fills addresses, answers (not done) and groups. False when memory is out. */
bool lookups_sort(struct lookups *l);

/* Fills the answers of a group. False when memory is out. */
bool lookups_run(struct lookups *l, const struct lookup_group *g, const struct rsym *t);

#endif
