/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "options_priv.h"

/* Longer words are no mistyped names. */
#define NEAREST_LEN_MAX 40

/* Counts the edits that turn one word into the other: letters inserted, deleted, replaced, or two
 * neighbours exchanged (Damerau's distance, in which no letter is edited twice). Both have at most
 * NEAREST_LEN_MAX letters. */
static size_t count_edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NEAREST_LEN_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *free_row = before;

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t least = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < least)
				least = last[j] + 1;
			if (now[j - 1] + 1 < least)
				least = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < least)
				least = before[j - 2] + 1;
			now[j] = least;
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[b_len];
}

const char *option_nearest(const char *word, const char *const *names, size_t count)
{
	const size_t len = strnlen(word, NEAREST_LEN_MAX + 1);
	const char *nearest = NULL;
	size_t least = len / 3 + 1; /* a third of the letters may be wrong */

	if (len > NEAREST_LEN_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const size_t name_len = strlen(names[i]);
		size_t edits;

		if (name_len > NEAREST_LEN_MAX)
			continue;
		/* The beginning of a name is near to the name. */
		edits = len > 1 && strncmp(word, names[i], len) == 0
				? len < name_len
				: count_edits(word, len, names[i], name_len);
		if (edits <= least) {
			least = edits - (edits > 0);
			nearest = names[i];
		}
	}
	return nearest;
}
