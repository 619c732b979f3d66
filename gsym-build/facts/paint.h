/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PAINT_H
#define RAWSTACK_PAINT_H
/*
 * Overlapping ranges in, disjoint ones out: at each address the range of highest rank is seen.
 * Every choice of the builder is made with it: the inner scope over the outer one, the better
 * symbol, the unit that owns an address. O(n log n).
 */
#include "err.h"

/* start < end. Of equal rank the shorter is seen where both start together, then the higher value.
 */
struct paint_span {
	uint64_t start, end;
	uint64_t rank;
	uint32_t value;
};

/* Growable; spans are appended by paint_add(), which returns false out of memory or above the
 * ceiling. Empty ones are left out. */
struct paint {
	struct paint_span *spans;
	size_t count, cap, max;
};

#define PAINT_INIT(max_count)      \
	{                          \
		.max = (max_count) \
	}

bool paint_add(struct paint *p, uint64_t start, uint64_t end, uint64_t rank, uint32_t value);
void paint_done(struct paint *p);

/*
 * Replaces the spans by what is seen of them: sorted, disjoint, neighbours of one span joined, rank
 * and value kept. ERR_MEMORY.
 */
int paint_flatten(struct paint *p, struct err *err) _must_check_;

/* In flattened spans: index of the first that ends above vaddr; count when there is none. */
size_t paint_find(const struct paint *p, uint64_t vaddr);

#endif
