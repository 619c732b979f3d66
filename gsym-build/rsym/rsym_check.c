/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_check.h"

#include "rsym_block.h"
#include "rsym_index.h"
#include "rsym_records.h"
#include "rsym_text.h"

static int content_damaged(struct err *err, const char *what, uint64_t index)
{
	return err_set(err, ERR_DATA, "damaged table: %s %llu is out of order or out of range",
		       what, (unsigned long long)index);
}

static int check_segments(const struct rsym *t, struct err *err)
{
	uint64_t end;

	if (t->segment_count > LIMIT_SEGMENTS ||
	    !(t->flags & RSYM_HAS_SEGMENTS) != !t->segment_count)
		return err_set(err, ERR_DATA, "damaged table: %u segments", t->segment_count);
	for (uint32_t i = 0; i < t->segment_count; i++) {
		struct rsym_disk_segment s;

		memcpy(&s, t->segments + i * sizeof(s), sizeof(s));
		if (!CHECKED_ADD(s.vaddr, s.mem_len, &end) ||
		    !CHECKED_ADD(s.file_off, s.file_len, &end) || s.file_len > s.mem_len)
			return content_damaged(err, "segment", i);
	}
	return 0;
}

int rsym_check_heads(const struct rsym *t, struct err *err)
{
	uint64_t leaves = 0, leaf_index = 0, end = 0;

	for (uint32_t i = 0; i < t->span_count; i++) {
		struct rsym_disk_span s;

		rsym_span_read(t, i, &s);
		if (s.leaf_count == 0 || s.leaf_first != leaves ||
		    s.leaf_index_first != leaf_index || (i && s.base <= end) ||
		    !CHECKED_ADD(s.base, s.last, &end) || s.last == UINT32_MAX)
			return content_damaged(err, "span", i);
		leaves += s.leaf_count;
		leaf_index += rsym_leaf_index_starts(s.leaf_count) + rsym_leaf_index_parts(&s);
		if (leaves > t->leaf_count || leaf_index > t->leaf_index_count)
			return content_damaged(err, "span", i);
	}
	if (leaves != t->leaf_count || leaf_index != t->leaf_index_count)
		return err_set(err, ERR_DATA, "damaged table: index of another length");
	return check_segments(t, err);
}

static uint32_t leaf_start(const struct rsym *t, const struct rsym_disk_span *s, uint32_t leaf)
{
	return rsym_load32(rsym_leaf(t, s->leaf_first + leaf));
}

/* Checks the leaf index of a span: the starts of its leaves, and the first leaf of each part. */
static int check_leaf_index(const struct rsym *t, const struct rsym_disk_span *s, struct err *err)
{
	uint32_t starts = rsym_leaf_index_starts(s->leaf_count), leaf = 0;
	const uint8_t *p = t->leaf_index + 4 * (size_t)s->leaf_index_first;

	for (uint32_t i = 0; i < starts; i++)
		if (rsym_load32(p + 4 * (size_t)i) !=
		    (i < s->leaf_count ? leaf_start(t, s, i) : UINT32_MAX))
			return content_damaged(err, "start of leaf", i);
	p += 4 * (size_t)starts;
	for (uint32_t i = 0; i < rsym_leaf_index_parts(s); i++) {
		uint32_t first = i << rsym_leaf_index_shift(s);

		while (leaf + 1 < s->leaf_count && leaf_start(t, s, leaf + 1) <= first)
			leaf++;
		if (rsym_load32(p + 4 * (size_t)i) != leaf)
			return content_damaged(err, "part of span", i);
	}
	return 0;
}

/* Totals of a walk over all blocks. */
struct walk {
	const struct rsym *t;
	uint64_t rows, nodes, blocks, off;
	uint64_t next;      /* where the next block must start, relative to the span */
	bool ends_in_a_gap; /* the last row seen is a gap */
	uint16_t depth[RSYM_NODES_MAX];
};

static int check_nodes(struct walk *w, const struct rsym_block *b, struct err *err)
{
	enum {
		UNKNOWN = 0,
		PENDING = UINT16_MAX
	};
	const struct rsym *t = w->t;
	struct rsym_node n;

	memset(w->depth, UNKNOWN, sizeof(w->depth));
	for (uint32_t i = 0; i < b->node_count; i++) {
		uint32_t at = i, steps = 0, depth;

		rsym_block_node(b, i, &n);
		if (n.is_frequent ? n.line_base >= t->frequent_count
				  : n.line_base >= t->line_base_count)
			return content_damaged(err, "node of block", w->blocks);
		/* Follow parents up to a node whose depth is known. A node met twice is a cycle. */
		while (w->depth[at] == UNKNOWN && at >= b->root_count) {
			w->depth[at] = PENDING;
			rsym_block_node(b, at, &n);
			at = n.parent;
			steps++;
			if (at >= b->node_count)
				return content_damaged(err, "node of block", w->blocks);
		}
		if (at < b->root_count)
			w->depth[at] = 1;
		depth = w->depth[at] + steps;
		if (w->depth[at] == PENDING || depth > LIMIT_INLINE_DEPTH + 1)
			return content_damaged(err, "node of block", w->blocks);
		for (at = i; steps--; at = n.parent) {
			w->depth[at] = (uint16_t)depth--;
			rsym_block_node(b, at, &n);
		}
	}
	return 0;
}

static int check_rows(struct walk *w, const struct rsym_block *b, struct err *err)
{
	uint32_t ones = bits_count_range(b->p, b->upper_at, b->upper_len);
	uint32_t before = 0, at = 1;
	struct rsym_lines lines;

	if (ones != b->row_count - 1 || (rsym_load64(b->p + b->upper_at / 8) & 1) ||
	    (b->by_change && !(rsym_load64(b->p + b->changed_at / 8) & 1)) ||
	    b->index_at + rsym_block_changes(b, b->row_count - 1) * b->index_bits > b->bits)
		return content_damaged(err, "starts of block", w->blocks);
	if (b->by_delta) {
		lines = rsym_lines_from(b, 0);
		if (!rsym_lines_to(b, b->row_count - 1, &lines))
			return content_damaged(err, "lines of block", w->blocks);
	}
	/* Read the bits once from front to back. If all starts are there and rise, every path of
	 * rsym_block_row() finds them. */
	for (uint32_t i = 0; i < b->row_count; i++) {
		uint32_t start = 0, node;

		if (i) {
			uint64_t word = bits_word(b->p, b->upper_at + at);

			for (; !word; word = bits_word(b->p, b->upper_at + at))
				at += 64;
			at += (uint32_t)__builtin_ctzll(word) + 1;
			start = (at - 1 - i) << b->low_bits |
				(uint32_t)bits_get(b->p, b->low_at + (i - 1) * b->low_bits,
						   b->low_bits);
		}
		node = rsym_block_index(b, i);
		if (node > b->node_count || start >= b->limit || (i && start <= before))
			return content_damaged(err, "row of block", w->blocks);
		before = start;
		w->ends_in_a_gap = node == b->node_count;
	}
	return 0;
}

/* Checks that the anchors agree with the stream. */
static int check_anchors(struct walk *w, const struct rsym_block *b, struct err *err)
{
	for (uint32_t row = RSYM_ANCHOR_ROWS; b->by_delta && row < b->row_count;
	     row += RSYM_ANCHOR_ROWS) {
		struct rsym_lines before = rsym_lines_from(b, row - 1);
		struct rsym_lines anchor = rsym_lines_from(b, row);

		if (!rsym_lines_to(b, row - 1, &before) || before.at != anchor.at ||
		    !rsym_lines_to(b, row, &before) || !rsym_lines_to(b, row, &anchor) ||
		    before.line != anchor.line)
			return content_damaged(err, "lines of block", w->blocks);
	}
	return 0;
}

static int check_row_block(struct walk *w, const struct rsym_place *place, struct err *err)
{
	const struct rsym *t = w->t;
	struct rsym_block b;

	if (place->off != w->off ||
	    !rsym_block_open(&b, t->blocks + place->off, place->len, place->limit, t->block_rows,
			     t->line_base_bits, t->frequent_bits))
		return content_damaged(err, "block", w->blocks);
	TRY(check_nodes(w, &b, err));
	TRY(check_rows(w, &b, err));
	TRY(check_anchors(w, &b, err));
	w->off += place->len;
	w->rows += b.row_count;
	w->nodes += b.node_count;
	w->blocks++;
	return 0;
}

static int check_leaf(struct walk *w, struct rsym_path *path, struct err *err)
{
	const uint8_t *leaf = rsym_leaf(w->t, path->leaf);
	bool is_last = path->leaf + 1 == path->span.leaf_first + path->span.leaf_count;
	bool is_far = false;
	uint32_t i;

	if (rsym_load32(leaf) != w->next || RSYM_LEAF_END(leaf, 0) == RSYM_LEAF_FAR)
		return content_damaged(err, "leaf", path->leaf);
	for (i = 0; i < RSYM_LEAF_BLOCKS && RSYM_LEAF_END(leaf, i) != RSYM_LEAF_FAR && !is_far;
	     i++) {
		struct rsym_place place;

		/* Look up the address where the block must start; it must be the first of the
		 * block. */
		path->key = (uint32_t)w->next;
		if (w->next > path->span.last || !rsym_leaf_block(w->t, path, i, &place) ||
		    place.x != 0)
			return content_damaged(err, "leaf", path->leaf);
		TRY(check_row_block(w, &place, err));
		w->next += place.limit;
		/* Only the last block of a leaf may end too far away for 16 bits. */
		is_far = RSYM_LEAF_START(leaf, i) == RSYM_LEAF_FAR;
	}
	for (; i < RSYM_LEAF_BLOCKS; i++)
		if (RSYM_LEAF_START(leaf, i) != RSYM_LEAF_FAR ||
		    RSYM_LEAF_END(leaf, i) != RSYM_LEAF_FAR)
			return content_damaged(err, "leaf", path->leaf);
	if (is_last && w->next != (uint64_t)path->span.last + 1)
		return content_damaged(err, "leaf", path->leaf);
	return 0;
}

static int check_blocks(const struct rsym *t, struct err *err)
{
	_cleanup_(freep) struct walk *w = calloc(1, sizeof(*w));

	if (!w)
		return err_no_memory(err);
	w->t = t;
	w->ends_in_a_gap = true;
	for (uint32_t i = 0; i < t->span_count; i++) {
		struct rsym_path path;

		rsym_span_read(t, i, &path.span);
		TRY(check_leaf_index(t, &path.span, err));
		w->next = 0;
		for (uint32_t j = 0; j < path.span.leaf_count; j++) {
			path.leaf = path.span.leaf_first + j;
			TRY(check_leaf(w, &path, err));
		}
	}
	/* The last row has no end, so it must be a gap. */
	if (w->off != t->blocks_len || w->rows != t->range_count || w->nodes != t->node_count ||
	    !w->ends_in_a_gap)
		return err_set(err, ERR_DATA, "damaged table: blocks do not end where they must");
	return 0;
}

static int check_line_bases(const struct rsym *t, struct err *err)
{
	uint32_t functions = 0, listed = 0;

	for (uint32_t i = 0; i < t->line_base_count; i++) {
		const uint8_t *group = rsym_line_base_group(t, i);
		uint32_t at = i % RSYM_GROUP * (t->file_bits + t->line_bits), file, line;

		if (i % RSYM_GROUP == 0 && rsym_load32(group) != functions)
			return content_damaged(err, "entity", i);
		functions += rsym_load64(group + 4) >> i % RSYM_GROUP & 1;
		group += sizeof(struct rsym_disk_line_bases);
		file = (uint32_t)bits_get(group, at, t->file_bits);
		line = (uint32_t)bits_get(group, at + t->file_bits, t->line_bits);
		if (file > t->file_count || !functions)
			return content_damaged(err, "entity", i);
		if (line == (UINT64_C(1) << t->line_bits) - 1 &&
		    (listed >= t->base_count ||
		     rsym_load32(t->bases + listed++ * sizeof(struct rsym_disk_base)) != i))
			return content_damaged(err, "entity", i);
	}
	if (functions != t->function_count || listed != t->base_count)
		return content_damaged(err, "entity", t->line_base_count);
	for (uint32_t i = 0; i < t->frequent_count; i++)
		if (rsym_load32(t->frequent + 4 * (size_t)i) >= t->line_base_count)
			return content_damaged(err, "hot entity", i);
	return 0;
}

static int check_functions(const struct rsym *t, struct err *err)
{
	uint32_t names = 0, entries = 0, listed = 0;

	for (uint32_t i = 0; i < t->function_count; i++) {
		const uint8_t *p = t->functions + (size_t)(i / RSYM_GROUP) * t->function_stride;
		struct rsym_disk_functions head;
		uint32_t bit = i % RSYM_GROUP, delta;

		memcpy(&head, p, sizeof(head));
		if (!bit && (head.names_before != names || head.entries_before != entries))
			return content_damaged(err, "function", i);
		names += head.name >> bit & 1;
		entries += head.entry >> bit & 1;
		delta = (uint32_t)bits_get(p + sizeof(head), bit * t->decl_bits, t->decl_bits);
		if (delta == (UINT64_C(1) << t->decl_bits) - 1) {
			struct rsym_disk_decl d;

			if (listed >= t->decl_count)
				return content_damaged(err, "function", i);
			memcpy(&d, t->decls + listed++ * sizeof(d), sizeof(d));
			if (d.function != i ||
			    (d.file != RSYM_DISK_NONE && d.file >= t->file_count))
				return content_damaged(err, "function", i);
		}
		if (!names)
			return content_damaged(err, "function", i);
	}
	if (names != t->names.count || entries != t->entry_count || listed != t->decl_count)
		return content_damaged(err, "function", t->function_count);
	return 0;
}

int rsym_check(const struct rsym *t, struct err *err)
{
	TRY(check_blocks(t, err));
	TRY(check_line_bases(t, err));
	TRY(check_functions(t, err));
	TRY(rsym_texts_check(&t->names, err));
	return rsym_texts_check(&t->files, err);
}
