/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_TEXT_H
#define RAWSTACK_DIE_TEXT_H
/*
 * The string sections of DWARF (DWARF 5 section 7.26). A string is handed around as a pointer to
 * its first byte: linkers merge equal strings of .debug_str, so its place tells whether it was seen
 * before and its text is looked at once. One thread at a time.
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
	struct die_section str, line_str; /* up to their last NUL */
	struct die_section str_offsets;
	struct die_text_seen *seen; /* of .debug_str, by a hash of the offset: the last one met */
	unsigned int seen_bits;     /* of that hash */
};

/* The sections of an image, or of split units: `split` takes .debug_str.dwo for .debug_str. */
int die_text_open(struct die_text *t, struct image *im, bool split, struct debug_text *text,
		  struct err *err);
void die_text_close(struct die_text *t);

/* The string at an offset of str or line_str; NULL when none begins and ends inside it. */
const char *die_text_at(const struct die_section *s, uint64_t off);

/* The string of an index: `base` is where the offsets of the unit begin in .debug_str_offsets. */
const char *die_text_index(const struct die_text *t, uint64_t base, uint64_t index,
			   unsigned int offset_size);

/*
 * The id of a string in text->strings, wherever it stands: 1; 0 for NULL and for the empty string,
 * *ret is then DEBUG_NONE; ERR_MEMORY. Names are cut at LIMIT_NAME_LEN.
 */
int die_text_id(struct die_text *t, const char *s, uint32_t *ret, struct err *err);

#endif
