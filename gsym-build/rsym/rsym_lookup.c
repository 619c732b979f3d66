/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_lookup.h"

#include "bisect.h"
#include "rsym_bits.h"
#include "rsym_format.h"

const struct rsym_variant *rsym_variant_base(void)
{
	static const struct rsym_variant base = {
		.name = "base",
		.lookup = rsym_lookup_base,
		.batch = rsym_lookup_batch_base,
		.range = rsym_range_base,
	};

	return &base;
}

const struct rsym_variant *rsym_variant_v3(void)
{
#if defined(__x86_64__)
	static const struct rsym_variant v3 = {
		.name = "x86-64-v3",
		.lookup = rsym_lookup_v3,
		.batch = rsym_lookup_batch_v3,
		.range = rsym_range_v3,
	};

	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
	    __builtin_cpu_supports("fma"))
		return &v3;
#endif
	return NULL;
}

static const struct rsym_variant *best_variant(void)
{
	static const struct rsym_variant *chosen;
	const struct rsym_variant *v = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!v) { /* concurrent threads all choose the same */
		v = rsym_variant_v3();
		if (!v)
			v = rsym_variant_base();
		__atomic_store_n(&chosen, v, __ATOMIC_RELAXED);
	}
	return v;
}

int rsym_lookup(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap)
{
	return best_variant()->lookup(t, vaddr, frames, cap);
}

size_t rsym_lookup_batch(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			 struct rsym_frame *frames, size_t cap, uint32_t *ends)
{
	return best_variant()->batch(t, vaddrs, count, frames, cap, ends);
}

int rsym_range(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	return best_variant()->range(t, vaddr, ret_start, ret_end);
}

uint64_t rsym_next_span(const struct rsym *t, uint64_t vaddr)
{
	const size_t len = sizeof(struct rsym_disk_span);
	size_t at = BISECT(t->span_count, i, rsym_load64(t->spans + i * len) <= vaddr);

	return at < t->span_count ? rsym_load64(t->spans + at * len) : UINT64_MAX;
}

uint64_t rsym_call_vaddr(const struct rsym *t, uint64_t return_vaddr)
{
	uint64_t start, end;

	if (!return_vaddr || rsym_range(t, return_vaddr - 1, &start, &end))
		return return_vaddr - !!return_vaddr;
	return rsym_range(t, return_vaddr, &start, &end) ? return_vaddr : return_vaddr - 1;
}
