/* SPDX-License-Identifier: Apache-2.0 */
#include "die_text.h"

#include <string.h>

#include "bytes.h"
#include "limits.h"

/*
 * The cache of seen strings takes at most 2 MB, enough for the names of a large program. An evicted
 * string is hashed again. Names are longer than NAME_LEN on average, so a small file needs only a
 * small cache, which takes less time to clear.
 */
#define SEEN_BITS_MIN 8
#define SEEN_BITS_MAX 17
#define NAME_LEN      16

int die_section_load(struct die_section *ret, struct image *im, const char *name, struct err *err)
{
	int rc = image_section(im, name, &ret->p, &ret->len, err);

	if (rc <= 0)
		*ret = (struct die_section){0};
	return rc < 0 ? rc : 0;
}

int die_text_open(struct die_text *t, struct image *im, bool split, struct debug_text *text,
		  struct err *err)
{
	struct die_section *strings[] = {&t->str, &t->line_str};

	*t = (struct die_text){
		.text = text,
		.seen_bits = SEEN_BITS_MIN,
	};
	TRY(die_section_load(&t->str, im, split ? ".debug_str.dwo" : ".debug_str", err));
	if (!split)
		TRY(die_section_load(&t->line_str, im, ".debug_line_str", err));
	TRY(die_section_load(&t->str_offsets, im,
			     split ? ".debug_str_offsets.dwo" : ".debug_str_offsets", err));
	/* Cut each section behind its last NUL, so that every string in it ends inside it. */
	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		while (strings[i]->len && strings[i]->p[strings[i]->len - 1])
			strings[i]->len--;
	while (t->seen_bits < SEEN_BITS_MAX && t->str.len / NAME_LEN >> t->seen_bits)
		t->seen_bits++;
	t->seen = calloc((size_t)1 << t->seen_bits, sizeof(*t->seen));
	return t->seen ? 0 : err_no_memory(err);
}

void die_text_close(struct die_text *t)
{
	free(t->seen);
	*t = (struct die_text){0};
}

const char *die_text_at(const struct die_section *s, uint64_t off)
{
	return off < s->len ? (const char *)s->p + off : NULL;
}

const char *die_text_index(const struct die_text *t, uint64_t base, uint64_t index,
			   unsigned int offset_size)
{
	struct bytes in = bytes_of(t->str_offsets.p, t->str_offsets.len);
	uint64_t at;

	if (!CHECKED_MUL(index, offset_size, &at) || !CHECKED_ADD(at, base, &at))
		return NULL;
	bytes_skip(&in, at);
	at = offset_size == 4 ? bytes_u32(&in) : bytes_u64(&in);
	return in.failed ? NULL : die_text_at(&t->str, at);
}

int die_text_id(struct die_text *t, const char *s, uint32_t *ret, struct err *err)
{
	uint64_t off = (uintptr_t)s - (uintptr_t)t->str.p;
	struct die_text_seen *seen = NULL;

	*ret = DEBUG_NONE;
	if (!s || !*s)
		return 0;
	if (t->str.p && off < t->str.len) {
		seen = &t->seen[(off * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - t->seen_bits)];
		if (seen->next_off == off + 1) {
			*ret = seen->id;
			return 1;
		}
	}
	*ret = debug_string(t->text, s, strnlen(s, LIMIT_NAME_LEN));
	if (seen && *ret != DEBUG_NONE)
		*seen = (struct die_text_seen){.next_off = off + 1, .id = *ret};
	return *ret != DEBUG_NONE ? 1 : err_no_memory(err);
}
