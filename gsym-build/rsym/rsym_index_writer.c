/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_index_writer.h"

#include "limits.h"
#include "rsym_index.h"

void rsym_index_writer_init(struct rsym_index_writer *w)
{
	*w = (struct rsym_index_writer){0};
	buf_init(&w->spans, LIMIT_TABLE_LEN);
	buf_init(&w->leaf_index, LIMIT_TABLE_LEN);
	buf_init(&w->leaves, LIMIT_TABLE_LEN);
	buf_init(&w->starts, LIMIT_TABLE_LEN);
}

void rsym_index_writer_done(struct rsym_index_writer *w)
{
	buf_done(&w->spans);
	buf_done(&w->leaf_index);
	buf_done(&w->leaves);
	buf_done(&w->starts);
}

static void begin_leaf(struct rsym_index_writer *w, uint32_t start, uint64_t off)
{
	/* rsym_layout_write() refuses a BLOCKS section that needs offsets above 32 bits. */
	w->leaf = (struct rsym_disk_leaf){.start = start, .off = (uint32_t)off};
	memset(w->leaf.starts, 0xff, sizeof(w->leaf.starts));
	memset(w->leaf.ends, 0xff, sizeof(w->leaf.ends));
	w->block_count = 0;
}

static void end_leaf(struct rsym_index_writer *w)
{
	buf_u32(&w->starts, w->leaf.start);
	buf_append(&w->leaves, &w->leaf, sizeof(w->leaf));
	w->span.leaf_count++;
}

static void end_span(struct rsym_index_writer *w)
{
	const uint8_t *starts = w->starts.p;
	uint32_t count = w->span.leaf_count, leaf = 0;

	w->span.leaf_index_first = (uint32_t)(w->leaf_index.len / sizeof(uint32_t));
	if (w->starts.failed)
		return;
	buf_append(&w->leaf_index, starts, w->starts.len);
	for (uint32_t i = 0; i < RSYM_LEAF_STARTS_AT_ONCE; i++)
		buf_u32(&w->leaf_index, UINT32_MAX);
	for (uint32_t i = 0; i < rsym_leaf_index_parts(&w->span); i++) {
		uint32_t first = i << rsym_leaf_index_shift(&w->span);

		while (leaf + 1 < count && rsym_load32(starts + 4 * ((size_t)leaf + 1)) <= first)
			leaf++;
		buf_u32(&w->leaf_index, leaf);
	}
	buf_append(&w->spans, &w->span, sizeof(w->span));
	buf_reset(&w->starts);
}

void rsym_index_writer_span(struct rsym_index_writer *w, uint64_t base, uint64_t off)
{
	if (w->open) {
		end_leaf(w);
		end_span(w);
	}
	w->open = true;
	w->span = (struct rsym_disk_span){
		.base = base, .leaf_first = (uint32_t)(w->leaves.len / sizeof(w->leaf))};
	w->end_start = 0;
	w->end_off = off;
	begin_leaf(w, 0, off);
}

void rsym_index_writer_block(struct rsym_index_writer *w, uint32_t next_start, uint64_t next_off)
{
	uint32_t i = w->block_count;

	/* A block that does not fit begins a new leaf: a leaf has 14 places of 16 bits. */
	if (i && (i == RSYM_LEAF_BLOCKS || w->end_start - w->leaf.start >= RSYM_LEAF_FAR ||
		  next_off - w->leaf.off >= RSYM_LEAF_FAR)) {
		end_leaf(w);
		begin_leaf(w, w->end_start, w->end_off);
		i = 0;
	}
	w->leaf.starts[i] = next_start - w->leaf.start < RSYM_LEAF_FAR
				    ? (uint16_t)(next_start - w->leaf.start)
				    : RSYM_LEAF_FAR;
	w->leaf.ends[i] = (uint16_t)(next_off - w->leaf.off);
	w->block_count = i + 1;
	w->end_start = next_start;
	w->end_off = next_off;
	w->span.last = next_start - 1;
}

bool rsym_index_writer_end(struct rsym_index_writer *w)
{
	if (w->open) {
		end_leaf(w);
		end_span(w);
	}
	w->open = false;
	return !w->spans.failed && !w->leaf_index.failed && !w->leaves.failed && !w->starts.failed;
}
