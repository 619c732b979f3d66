/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_LOOKUP_H
#define RAWSTACK_RSYM_LOOKUP_H
/* The variants of lookups, each compiled for one kind of processor. rsym_lookup.c takes the best
 * one that this processor runs; tests and benchmarks compare them. Both give the same answers. */
#include "rsym.h"

struct rsym_variant {
	const char *name;
	int (*lookup)(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);
	size_t (*batch)(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			struct rsym_frame *frames, size_t cap, uint32_t *ends);
	int (*range)(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);
};

/* Return the variant for any processor, and the one for x86-64-v3 (AVX2, BMI2), which is NULL on
 * other processors. */
const struct rsym_variant *rsym_variant_base(void);
const struct rsym_variant *rsym_variant_v3(void);

/* Returns the start of the span after that of vaddr, or UINT64_MAX if there is none. */
uint64_t rsym_next_span(const struct rsym *t, uint64_t vaddr);

int rsym_lookup_base(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);
size_t rsym_lookup_batch_base(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			      struct rsym_frame *frames, size_t cap, uint32_t *ends);
int rsym_range_base(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

int rsym_lookup_v3(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);
size_t rsym_lookup_batch_v3(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			    struct rsym_frame *frames, size_t cap, uint32_t *ends);
int rsym_range_v3(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

#endif
