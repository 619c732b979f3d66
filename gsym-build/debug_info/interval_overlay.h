/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INTERVAL_OVERLAY_H
#define RAWSTACK_INTERVAL_OVERLAY_H
/*
 * Overlapping ranges in, disjoint ones out: at each address the range of highest rank is seen.
 * Every choice of the builder is made with it: the inner scope over the outer one, the better
 * symbol, the unit that owns an address. O(n log n).
 */
#include "err.h"

/* start < end. Of equal rank the shorter is seen where both start together, then the higher value.
 */
struct interval_span {
	uint64_t start, end;
	uint64_t rank;
	uint32_t value;
};

/* Growable; spans are appended by interval_overlay_add(), which returns false out of memory or
 * above the ceiling. Empty ones are left out. */
struct interval_overlay {
	struct interval_span *spans;
	size_t count, cap, max;
};

#define INTERVAL_OVERLAY_INIT(max_count) \
	{                                \
		.max = (max_count)       \
	}

bool interval_overlay_add(struct interval_overlay *p, uint64_t start, uint64_t end, uint64_t rank,
			  uint32_t value);
void interval_overlay_done(struct interval_overlay *p);

/*
 * Replaces the spans by what is seen of them: sorted, disjoint, neighbours of one span joined, rank
 * and value kept. ERR_MEMORY.
 */
int interval_overlay_flatten(struct interval_overlay *p, struct err *err) _must_check_;

/* In flattened spans: index of the first that ends above vaddr; count when there is none. */
size_t interval_overlay_find(const struct interval_overlay *p, uint64_t vaddr);

#endif
