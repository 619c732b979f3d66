/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INTERVAL_OVERLAY_H
#define RAWSTACK_INTERVAL_OVERLAY_H
/*
 * Turns overlapping ranges into disjoint ones: at each address the range of highest rank is
 * visible. The builder makes every choice with it: the inner scope over the outer one, the better
 * symbol, the unit that owns an address. It takes O(n log n).
 */
#include "err.h"

/* A range, with start < end. Of ranges of equal rank the one that starts first is visible; if they
 * start together, the shorter one; then the one with the higher value. */
struct interval_span {
	uint64_t start, end;
	uint64_t rank;
	uint32_t value;
};

/* A growable list of spans. interval_overlay_add() appends a span, or nothing if it is empty. It
 * returns false if memory is out or there would be more than `max`. */
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

/* Replaces the spans by their visible parts, which are sorted and disjoint and keep rank and value.
 * Adjacent parts of equal rank and value are joined. Returns 0, ERR_LIMIT or ERR_MEMORY. */
int interval_overlay_flatten(struct interval_overlay *p, struct err *err) _must_check_;

/* Returns the index of the first flattened span that ends above vaddr, or count if there
 * is none. */
size_t interval_overlay_find(const struct interval_overlay *p, uint64_t vaddr);

#endif
