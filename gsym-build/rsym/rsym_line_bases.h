/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_LINE_BASES_H
#define RAWSTACK_RSYM_LINE_BASES_H
/*
 * Line bases: what a node of a block names. One is a function, a file in which it has lines, and
 * the lowest of them, so that blocks hold small differences and never a file. A function whose
 * lines spread far has several, each for a stretch of them. Packs the sections of line bases and
 * functions.
 */
#include "rsym_content.h"

struct rsym_line_bases {
	const struct rsym_content *content;
	unsigned int stretch_bits;
	uint32_t *first;  /* by function, and one more: its first line base */
	uint64_t *keys;   /* by line base */
	uint8_t *is_used; /* by node: some row needs it */
	uint32_t count;
};

/* Makes the line bases of all lines in the content; each covers at most 2^stretch_bits of them.
 * ERR_MEMORY, ERR_LIMIT. */
int rsym_line_bases_make(struct rsym_line_bases *e, const struct rsym_content *c,
			 unsigned int stretch_bits, struct err *err) _must_check_;
void rsym_line_bases_done(struct rsym_line_bases *e);

/* The line base for a line of a function, which must be one of the content; *ret_offset is the line
 * above its lowest. near: the one it may well be, or RSYM_NONE. */
uint32_t rsym_line_bases_find(const struct rsym_line_bases *e, uint32_t function, uint32_t file,
			      uint32_t line, uint32_t near, uint32_t *ret_offset);

/* The packed sections, and the fields of the shape that describe them. Failure sticks in the
 * buffers. */
struct rsym_disk_shape;

struct rsym_line_bases_out {
	struct buf *line_bases, *bases, *functions, *decls, *entries;
};

void rsym_line_bases_pack(const struct rsym_line_bases *e, const struct rsym_line_bases_out *out,
			  struct rsym_disk_shape *shape);

#endif
