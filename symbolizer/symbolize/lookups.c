/* SPDX-License-Identifier: Apache-2.0 */
#include "lookups.h"

#include <string.h>

enum {
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
	FRAMES_EACH = 4, /* a first guess of the frames of an address */
};

bool lookups_reset(struct lookups *l, size_t location_count)
{
	l->count = l->address_count = l->group_count = l->frame_count = 0;
	if (!GROW(l->address_of, &l->address_of_cap, location_count, LIMIT_BATCH_LOCATIONS))
		return false;
	for (size_t i = 0; i < location_count; i++)
		l->address_of[i] = LOOKUPS_NONE;
	return true;
}

void lookups_done(struct lookups *l)
{
	free(l->items);
	free(l->spare);
	free(l->vaddrs);
	free(l->ends);
	free(l->answers);
	free(l->address_of);
	free(l->groups);
	free(l->frames);
	*l = (struct lookups){0};
}

size_t lookups_memory(const struct lookups *l)
{
	return (l->items_cap + l->spare_cap) * sizeof(l->items[0]) +
	       l->vaddrs_cap * sizeof(l->vaddrs[0]) + l->ends_cap * sizeof(l->ends[0]) +
	       l->answers_cap * sizeof(l->answers[0]) +
	       l->address_of_cap * sizeof(l->address_of[0]) + l->groups_cap * sizeof(l->groups[0]) +
	       l->frames_cap * sizeof(l->frames[0]);
}

bool lookups_add(struct lookups *l, uint32_t module, uint64_t vaddr, uint32_t location)
{
	if (!GROW(l->items, &l->items_cap, l->count + 1, LIMIT_BATCH_LOCATIONS))
		return false;
	l->items[l->count++] = (struct lookup_item){vaddr, module, location};
	return true;
}

static unsigned int digit_of(const struct lookup_item *it, unsigned int digit)
{
	return digit < 8 ? (unsigned int)(it->vaddr >> (DIGIT_BITS * digit)) & (DIGITS - 1)
			 : it->module >> (DIGIT_BITS * (digit - 8)) & (DIGITS - 1);
}

/* Makes one pass of a radix sort: stable, by one digit. */
static void sort_by(struct lookups *l, unsigned int digit)
{
	struct lookup_item *from = l->items;
	uint32_t ends[DIGITS] = {0}, at = 0;
	size_t cap = l->items_cap;

	for (size_t i = 0; i < l->count; i++)
		ends[digit_of(&from[i], digit)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		uint32_t n = ends[d];

		ends[d] = at;
		at += n;
	}
	for (size_t i = 0; i < l->count; i++)
		l->spare[ends[digit_of(&from[i], digit)]++] = from[i];
	l->items = l->spare;
	l->items_cap = l->spare_cap;
	l->spare = from;
	l->spare_cap = cap;
}

/* A radix sort, from the lowest digit to the highest. A digit in which all items agree needs no
 * pass. */
static void sort_lookups(struct lookups *l)
{
	uint64_t vaddr_differs = 0;
	uint32_t module_differs = 0;

	for (size_t i = 1; i < l->count; i++) {
		vaddr_differs |= l->items[i].vaddr ^ l->items[0].vaddr;
		module_differs |= l->items[i].module ^ l->items[0].module;
	}
	for (unsigned int d = 0; d < 8; d++)
		if (vaddr_differs >> (DIGIT_BITS * d) & (DIGITS - 1))
			sort_by(l, d);
	for (unsigned int d = 0; d < 4; d++)
		if (module_differs >> (DIGIT_BITS * d) & (DIGITS - 1))
			sort_by(l, 8 + d);
}

bool lookups_sort(struct lookups *l)
{
	struct lookup_group *g = NULL;

	if (!GROW(l->spare, &l->spare_cap, l->count, LIMIT_BATCH_LOCATIONS) ||
	    !GROW(l->vaddrs, &l->vaddrs_cap, l->count, LIMIT_BATCH_LOCATIONS) ||
	    !GROW(l->ends, &l->ends_cap, l->count, LIMIT_BATCH_LOCATIONS) ||
	    !GROW(l->answers, &l->answers_cap, l->count, LIMIT_BATCH_LOCATIONS))
		return false;
	sort_lookups(l);
	for (size_t i = 0; i < l->count; i++) {
		const struct lookup_item *it = &l->items[i];
		uint32_t at = (uint32_t)l->address_count;

		if (!g || g->module != it->module) {
			if (!GROW(l->groups, &l->groups_cap, l->group_count + 1,
				  LIMIT_BATCH_LOCATIONS))
				return false;
			g = &l->groups[l->group_count++];
			*g = (struct lookup_group){it->module, at, at};
		}
		if (g->end == g->first || l->vaddrs[at - 1] != it->vaddr) {
			l->vaddrs[at] = it->vaddr;
			l->answers[at] = (struct lookup_answer){0};
			g->end = ++at;
			l->address_count++;
		}
		l->address_of[it->location] = at - 1;
	}
	return true;
}

bool lookups_run(struct lookups *l, const struct lookup_group *g, const struct rsym *t)
{
	size_t at = g->first;

	while (at < g->end) {
		size_t want = l->frame_count + FRAMES_EACH * (g->end - at) + RSYM_FRAMES_MAX, done;
		size_t most = LOOKUPS_FRAMES + RSYM_FRAMES_MAX;

		if (l->frame_count > LOOKUPS_FRAMES)
			return true; /* the rest is the caller's */
		if (!GROW(l->frames, &l->frames_cap, want < most ? want : most, most))
			return false;
		done = rsym_lookup_batch(t, l->vaddrs + at, g->end - at, l->frames + l->frame_count,
					 l->frames_cap - l->frame_count, l->ends);
		for (size_t i = 0; i < done; i++) {
			uint32_t begin = i ? l->ends[i - 1] : 0;

			l->answers[at + i] = (struct lookup_answer){
				.first = (uint32_t)(l->frame_count + begin),
				.count = l->ends[i] - begin,
				.done = true,
			};
		}
		if (!done)
			return true;
		l->frame_count += l->ends[done - 1];
		at += done;
	}
	return true;
}
