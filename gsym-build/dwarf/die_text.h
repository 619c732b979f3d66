/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_TEXT_H
#define RAWSTACK_DIE_TEXT_H
/*
 * The string sections of DWARF (DWARF 5 section 7.26). A string is passed as a pointer to its first
 * byte: linkers merge equal strings of .debug_str, so the address alone tells whether a string was
 * seen before, and its text is hashed only once. A struct is for one thread at a time.
 */
#include "debug_info.h"
#include "image.h"

/* The content of a section, owned by the image; p is NULL if there is none. */
struct die_section {
	const uint8_t *p;
	size_t len;
};

/* Loads a section; a missing one is empty. Returns errors as image_section(). */
int die_section_load(struct die_section *ret, struct image *im, const char *name, struct err *err);

struct die_text_seen {
	uint64_t next_off; /* off + 1, or 0 if the entry is free */
	uint32_t id;
};

struct die_text {
	struct debug_text *text;
	struct die_section str, line_str; /* they end with their last NUL */
	struct die_section str_offsets;
	struct die_text_seen *seen; /* by a hash of the offset in .debug_str; the newest stays */
	unsigned int seen_bits;     /* width of that hash */
};

/* Opens the string sections of an image; `split` selects the names in files of split units, such as
 * .debug_str.dwo. Returns ERR_MEMORY or errors as image_section(). */
int die_text_open(struct die_text *t, struct image *im, bool split, struct debug_text *text,
		  struct err *err);
void die_text_close(struct die_text *t);

/* Returns the string at an offset of str or line_str, or NULL if the offset is outside. */
const char *die_text_at(const struct die_section *s, uint64_t off);

/* Returns the string at an index, or NULL. `base` is where the unit's offsets begin in
 * .debug_str_offsets. */
const char *die_text_index(const struct die_text *t, uint64_t base, uint64_t index,
			   unsigned int offset_size);

/* Interns a string of any section, cut at LIMIT_NAME_LEN. Returns 1 and its id in text->strings, 0
 * and DEBUG_NONE for NULL and the empty string, or ERR_MEMORY. */
int die_text_id(struct die_text *t, const char *s, uint32_t *ret, struct err *err);

#endif
