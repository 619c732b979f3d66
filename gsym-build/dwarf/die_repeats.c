/* SPDX-License-Identifier: Apache-2.0 */
#include "die_repeats.h"

bool die_repeats_add(struct die_repeats *r, enum die_repeated what, uint64_t read_len, uint64_t len)
{
	uint64_t all = read_len + atomic_fetch_add_explicit(&r->read_len[what], read_len,
							    memory_order_relaxed);

	if (all <= LIMIT_REPEATS * (len + LIMIT_REPEATS_FREE))
		return true;
	atomic_store_explicit(&r->too_much[what], true, memory_order_relaxed);
	return false;
}

bool die_repeats_is_over(const struct die_repeats *r, enum die_repeated what)
{
	return atomic_load_explicit(&r->too_much[what], memory_order_relaxed);
}

int die_repeats_check(const struct die_repeats *r, struct err *err)
{
	static const char *const names[DIE_REPEATED_COUNT] = {
		[DIE_REPEATED_RANGES] = "range lists",
		[DIE_REPEATED_LINES] = "line tables",
		[DIE_REPEATED_SPLIT] = "split units",
	};

	for (int i = 0; i < DIE_REPEATED_COUNT; i++)
		if (die_repeats_is_over(r, (enum die_repeated)i))
			return err_set(
				err, ERR_LIMIT,
				"damaged: its %s are referred to so often that they would be "
				"read %llu times over",
				names[i], (unsigned long long)LIMIT_REPEATS);
	return 0;
}
