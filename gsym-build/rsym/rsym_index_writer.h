/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_INDEX_WRITER_H
#define RAWSTACK_RSYM_INDEX_WRITER_H
/*
 * Makes the index over blocks: spans, leaf index and leaves. Blocks come in the order of their
 * addresses. Failure sticks in the buffers.
 */
#include "buf.h"
#include "rsym_format.h"

struct rsym_index_writer {
	struct buf spans, leaf_index, leaves; /* finished by rsym_index_writer_end() */
	struct buf starts;                    /* of the leaves of the span at hand: u32 */
	struct rsym_disk_span span;
	struct rsym_disk_leaf leaf;
	uint32_t block_count; /* of the leaf at hand */
	uint32_t end_start;   /* of the last block, above span.base */
	uint64_t end_off;
	bool open; /* there is a span at hand */
};

void rsym_index_writer_init(struct rsym_index_writer *w);
void rsym_index_writer_done(struct rsym_index_writer *w);

/* A new span begins with a block at base. */
void rsym_index_writer_span(struct rsym_index_writer *w, uint64_t base, uint64_t off);

/*
 * A block: where the one behind it starts (above the span's base) and stands in BLOCKS. For the
 * last of a span that is one above the start of its last row.
 */
void rsym_index_writer_block(struct rsym_index_writer *w, uint32_t next_start, uint64_t next_off);

/* Whether any buffer failed. */
bool rsym_index_writer_end(struct rsym_index_writer *w) _must_check_;

#endif
