/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_ENTITIES_H
#define RAWSTACK_RSYM_ENTITIES_H
/*
 * Entities: what a node of a block names. One is a function, a file in which it has lines, and the
 * lowest of them, so that blocks hold small differences and never a file. A function whose lines
 * spread far has several, each for a stretch of them. Packs the sections of entities and
 * functions.
 */
#include "rsym_content.h"

struct rsym_entities {
	const struct rsym_content *content;
	unsigned int stretch_bits;
	uint32_t *first;  /* by function, and one more: its first entity */
	uint64_t *keys;   /* by entity */
	uint8_t *is_used; /* by node: some row needs it */
	uint32_t count;
};

/* Makes the entities of all lines in the content; each covers at most 2^stretch_bits of them.
 * ERR_MEMORY, ERR_LIMIT. */
int rsym_entities_make(struct rsym_entities *e, const struct rsym_content *c,
		       unsigned int stretch_bits, struct err *err) _must_check_;
void rsym_entities_done(struct rsym_entities *e);

/* The entity for a line of a function, which must be one of the content; *ret_offset is the line
 * above its lowest. near: the one it may well be, or RSYM_NONE. */
uint32_t rsym_entities_find(const struct rsym_entities *e, uint32_t function, uint32_t file,
			    uint32_t line, uint32_t near, uint32_t *ret_offset);

/* The packed sections, and the fields of the shape that describe them. Failure sticks in the
 * buffers. */
struct rsym_disk_shape;

struct rsym_entities_out {
	struct buf *entities, *bases, *functions, *decls, *entries;
};

void rsym_entities_pack(const struct rsym_entities *e, const struct rsym_entities_out *out,
			struct rsym_disk_shape *shape);

#endif
