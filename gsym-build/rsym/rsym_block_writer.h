/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_BLOCK_WRITER_H
#define RAWSTACK_RSYM_BLOCK_WRITER_H
/* Packs the rows and nodes of one block into bits, in the smallest of the shapes that rsym_block.h
 * reads. rsym_pack.c decides what a block contains. */
#include "buf.h"
#include "rsym_format.h"

#define RSYM_BLOCK_NONE UINT32_MAX

struct rsym_block_row {
	uint32_t start; /* relative to the block's first address; 0 for row 0 */
	uint32_t node;  /* index in nodes, or RSYM_BLOCK_NONE: no answer */
	uint32_t line;  /* minus the lowest line of the node's line base */
};

struct rsym_block_node {
	uint32_t parent; /* in nodes, or RSYM_BLOCK_NONE */
	uint32_t call;   /* line of the call minus the lowest line of the parent's line base */
	uint32_t line_base;
	uint32_t frequent; /* index into FREQUENT, or RSYM_BLOCK_NONE */
};

struct rsym_block_writer {
	/* These hold for the whole table. */
	unsigned int block_rows, line_base_bits, frequent_bits;
	/* These are the contents of this block. */
	uint32_t row_count, node_count;
	struct rsym_block_row rows[RSYM_ROWS_MAX];
	struct rsym_block_node nodes[RSYM_NODES_MAX];
};

/* Appends the block, whose rows all start below limit; row_count > 0. A failure is sticky in
 * out. */
void rsym_block_write(const struct rsym_block_writer *w, uint32_t limit, struct buf *out);

#endif
