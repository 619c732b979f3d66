/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

bool grow_memory(void **p, size_t *cap, size_t want, size_t size, size_t ceiling)
{
	size_t next = *cap ? *cap : 16, bytes;
	void *grown;

	if (want > ceiling)
		return false;
	if (want <= *cap)
		return true;
	while (next < want)
		if (!CHECKED_MUL(next, 2, &next))
			return false;
	if (next > ceiling)
		next = ceiling;
	if (!CHECKED_MUL(next, size, &bytes))
		return false;
	grown = realloc(*p, bytes);
	if (!grown)
		return false;
	*p = grown;
	*cap = next;
	return true;
}
