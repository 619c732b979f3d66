/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "limits.h"

void facts_text_init(struct facts_text *t)
{
	t->strings = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN);
	t->files = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN);
}

void facts_text_done(struct facts_text *t)
{
	intern_done(&t->strings);
	intern_done(&t->files);
}

uint32_t facts_string(struct facts_text *t, const void *p, size_t len)
{
	return intern_add(&t->strings, p, len, NULL);
}

uint32_t facts_file(struct facts_text *t, const void *dir, size_t dir_len, const void *base,
		    size_t base_len)
{
	struct facts_file f = {
		.dir = facts_string(t, dir, dir_len),
		.base = facts_string(t, base, base_len),
	};

	if (f.dir == FACTS_NONE || f.base == FACTS_NONE)
		return FACTS_NONE;
	return intern_add(&t->files, &f, sizeof(f), NULL);
}
