/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BISECT_H
#define RAWSTACK_BISECT_H
/* Binary search. */
#include <stddef.h>

/*
 * BISECT(count, i, is_before) returns how many of `count` elements come before the wanted place,
 * which is also the index of the first that does not. is_before is an expression in the index `i`,
 * true for these elements and false for all behind them:
 *
 *	at = BISECT(s->count, i, s->list[i].vaddr < vaddr);
 */
#define BISECT(count, i, is_before)                                               \
	__extension__({                                                           \
		size_t bisect_low_ = 0, bisect_end_ = count;                      \
		while (bisect_low_ < bisect_end_) {                               \
			size_t i = bisect_low_ + (bisect_end_ - bisect_low_) / 2; \
			if (is_before)                                            \
				bisect_low_ = i + 1;                              \
			else                                                      \
				bisect_end_ = i;                                  \
		}                                                                 \
		bisect_low_;                                                      \
	})

#endif
