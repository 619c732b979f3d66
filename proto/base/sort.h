/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SORT_H
#define RAWSTACK_SORT_H
/*
 * Sorts where qsort() is too slow: qsort() calls a function for every comparison, and builds sort
 * millions of small records. The sort is stable, and input that is in order already costs one pass.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares records that begin with a uint64_t by that number, for qsort() and bsearch(). */
static inline int compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/*
 * DEFINE_SORT(name, type, before) defines `static void name(type *a, type *tmp, size_t n)`.
 * before(const type *x, const type *y) returns whether x goes in front of y. tmp has room for n / 2
 * elements.
 */
#define DEFINE_SORT(name, type, before)                                      \
	static void name(type *a, type *tmp, size_t n)                       \
	{                                                                    \
		size_t half = n / 2, i = 0, j = half, k = 0;                 \
                                                                             \
		if (n <= 12) {                                               \
			for (i = 1; i < n; i++) {                            \
				type x = a[i];                               \
                                                                             \
				for (j = i; j && before(&x, &a[j - 1]); j--) \
					a[j] = a[j - 1];                     \
				a[j] = x;                                    \
			}                                                    \
			return;                                              \
		}                                                            \
		name(a, tmp, half);                                          \
		name(a + half, tmp, n - half);                               \
		if (!before(&a[half], &a[half - 1]))                         \
			return;                                              \
		memcpy(tmp, a, half * sizeof(type));                         \
		while (i < half && j < n)                                    \
			a[k++] = before(&a[j], &tmp[i]) ? a[j++] : tmp[i++]; \
		memcpy(a + k, tmp + i, (half - i) * sizeof(type));           \
	}

#endif
