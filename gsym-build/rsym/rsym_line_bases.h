/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_LINE_BASES_H
#define RAWSTACK_RSYM_LINE_BASES_H
/*
 * Makes line bases, to which the nodes of blocks refer, and packs the sections of line bases and
 * functions. A line base is a function, a file in which it has lines, and the lowest of these
 * lines, so that blocks hold small differences and no files. A function whose lines are far apart
 * has several, each for a stretch of lines.
 */
#include "rsym_content.h"

struct rsym_line_bases {
	const struct rsym_content *content;
	unsigned int stretch_bits;
	uint32_t *first;  /* by function, and one more: its first line base */
	uint64_t *keys;   /* by line base */
	uint8_t *is_used; /* by node: whether some row needs it */
	uint32_t count;
};

/* Makes the line bases of all lines in the content; each covers at most 2^stretch_bits of them.
 * ERR_MEMORY, ERR_LIMIT. */
int rsym_line_bases_make(struct rsym_line_bases *e, const struct rsym_content *c,
			 unsigned int stretch_bits, struct err *err) _must_check_;
void rsym_line_bases_done(struct rsym_line_bases *e);

/* Finds the line base of a line of a function in the content; *ret_offset is the line minus the
 * lowest. `near` is a guess, or RSYM_NONE. */
uint32_t rsym_line_bases_find(const struct rsym_line_bases *e, uint32_t function, uint32_t file,
			      uint32_t line, uint32_t near, uint32_t *ret_offset);

/* Packs the sections, and fills the fields of the shape that describe them. A failure is sticky in
 * the buffers. */
struct rsym_disk_shape;

struct rsym_line_bases_out {
	struct buf *line_bases, *bases, *functions, *decls, *entries;
};

void rsym_line_bases_pack(const struct rsym_line_bases *e, const struct rsym_line_bases_out *out,
			  struct rsym_disk_shape *shape);

#endif
