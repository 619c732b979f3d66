/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_INDEX_WRITER_H
#define RAWSTACK_RSYM_INDEX_WRITER_H
/* Makes the index of the blocks: spans, leaf index and leaves. Blocks must be added in the order of
 * their addresses. A failure is sticky in the buffers. */
#include "buf.h"
#include "rsym_format.h"

struct rsym_index_writer {
	struct buf spans, leaf_index, leaves; /* finished by rsym_index_writer_end() */
	struct buf starts;                    /* starts of the leaves of the current span: u32 */
	struct rsym_disk_span span;
	struct rsym_disk_leaf leaf;
	uint32_t block_count; /* of the current leaf */
	uint32_t end_start;   /* end of the last block, relative to span.base */
	uint64_t end_off;
	bool open; /* there is a current span */
};

void rsym_index_writer_init(struct rsym_index_writer *w);
void rsym_index_writer_done(struct rsym_index_writer *w);

/* Begins a new span, whose first block is at base. */
void rsym_index_writer_span(struct rsym_index_writer *w, uint64_t base, uint64_t off);

/* Adds a block, given the start (relative to the span's base) and the offset in BLOCKS of the next
 * one. For the last block of a span, next_start is one above the start of its last row. */
void rsym_index_writer_block(struct rsym_index_writer *w, uint32_t next_start, uint64_t next_off);

/* Finishes the buffers. Returns false if one of them failed. */
bool rsym_index_writer_end(struct rsym_index_writer *w) _must_check_;

#endif
