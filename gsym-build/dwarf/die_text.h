/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_TEXT_H
#define RAWSTACK_DIE_TEXT_H
/*
 * The string sections of DWARF (DWARF 5 section 7.26). A string is passed as a pointer to its first
 * byte: linkers merge equal strings of .debug_str, so the address alone tells whether a string was
 * seen before, and its text is hashed only once. One thread at a time.
 */
#include "debug_info.h"
#include "image.h"

/* The content of a section, owned by the image; p is NULL when there is none. */
struct die_section {
	const uint8_t *p;
	size_t len;
};

/* Loads a section; one that is not there is empty. Errors as image_section(). */
int die_section_load(struct die_section *ret, struct image *im, const char *name, struct err *err);

struct die_text_seen {
	uint64_t next_off; /* off + 1; 0: none */
	uint32_t id;
};

struct die_text {
	struct debug_text *text;
	struct die_section str, line_str; /* cut behind the last NUL */
	struct die_section str_offsets;
	struct die_text_seen
		*seen;          /* cache for .debug_str, by a hash of the offset; the newest wins */
	unsigned int seen_bits; /* width of that hash */
};

/* Opens the string sections of an image; `split`: of a file of split units, such as
 * .debug_str.dwo. */
int die_text_open(struct die_text *t, struct image *im, bool split, struct debug_text *text,
		  struct err *err);
void die_text_close(struct die_text *t);

/* The string at an offset of str or line_str; NULL when it is not inside the section up to
 * its NUL. */
const char *die_text_at(const struct die_section *s, uint64_t off);

/* The string at an index; `base` is where the unit's offsets begin in .debug_str_offsets. */
const char *die_text_index(const struct die_text *t, uint64_t base, uint64_t index,
			   unsigned int offset_size);

/* Interns a string of any section. 1 and its id in text->strings; 0 and DEBUG_NONE for NULL and the
 * empty string; ERR_MEMORY. Names are cut at LIMIT_NAME_LEN. */
int die_text_id(struct die_text *t, const char *s, uint32_t *ret, struct err *err);

#endif
