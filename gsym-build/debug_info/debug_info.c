/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_info.h"

#include "limits.h"

void debug_text_init(struct debug_text *t)
{
	t->strings = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN);
	t->files = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN);
}

void debug_text_done(struct debug_text *t)
{
	intern_done(&t->strings);
	intern_done(&t->files);
}

uint32_t debug_string(struct debug_text *t, const void *p, size_t len)
{
	return intern_add(&t->strings, p, len, NULL);
}

uint32_t debug_file(struct debug_text *t, const void *dir, size_t dir_len, const void *base,
		    size_t base_len)
{
	struct debug_file f = {
		.dir = debug_string(t, dir, dir_len),
		.base = debug_string(t, base, base_len),
	};

	if (f.dir == DEBUG_NONE || f.base == DEBUG_NONE)
		return DEBUG_NONE;
	return intern_add(&t->files, &f, sizeof(f), NULL);
}
