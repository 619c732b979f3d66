/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_BLOCK_H
#define RAWSTACK_RSYM_BLOCK_H
/*
 * One block of a table, read in place: up to 128 consecutive rows and every node they need, with
 * all its ancestors. rsym_block_open() computes where each column is and proves that what has a
 * known length lies inside the block; each read after it is checked against what it counts, so no
 * bytes whatever make a reader leave the table or run on. Inline, for it is compiled once for each
 * kind of processor. Written by rsym_block_writer.c; the bits are described in FORMAT.md.
 */
#include "rsym_bits.h"
#include "rsym_format.h"

/* Bits of a count and of a width in a block's header, by its form. */
#define RSYM_FORM_COUNT_BITS(form) (0xa765u >> (4 * (form)) & 15)
#define RSYM_FORM_WIDTH_BITS(form) (0x6544u >> (4 * (form)) & 15)

enum {
	RSYM_FORM_BITS = 2,
	RSYM_FLAG_BITS = 3,
	RSYM_PARTIAL_BITS = 7, /* rows - 1 of a block that is not full */
	RSYM_GOLOMB_STEP_BITS = 2,
	RSYM_GOLOMB_FRESH_BITS = 3,
	RSYM_GOLOMB_FRESH_MIN = 1, /* added to what is stored */
	RSYM_ANCHOR_ROWS = 16,     /* an anchor in front of each so many rows, but the first */
	RSYM_ANCHOR_BITS_BITS = 4, /* bits of an anchor's offset in the stream */
};

struct rsym_block {
	const uint8_t *p;
	uint32_t bits;  /* of the whole block */
	uint32_t limit; /* addresses: rows start below it */
	uint32_t row_count, node_count, root_count, hot_count;
	uint32_t index_count;
	uint8_t low_bits, index_bits, parent_bits, call_bits, line_bits, entity_bits, hot_bits;
	uint8_t step, fresh; /* orders of the exp-Golomb codes */
	uint8_t anchor_bits;
	bool by_change; /* rows name their node only when it changes */
	bool by_delta;  /* lines are a stream of differences */
	/* Bit positions of the columns. */
	uint32_t upper_at, upper_len, low_at, changed_at, index_at, root_at, cold_at, hot_at;
	uint32_t line_at; /* or the anchors, in front of the stream */
	uint32_t stream_at;
};

struct rsym_node {
	uint32_t parent; /* the node itself: none */
	uint32_t call;   /* line of the call, above the lowest line of the parent's entity */
	uint32_t entity; /* or index into HOT */
	bool is_hot;
};

/* How far a stream of lines was read: before the code of `row`. */
struct rsym_lines {
	uint32_t row, at, line;
};

/* Elias-Fano: the low bits of each start that are written plainly. */
static RSYM_INLINE unsigned int rsym_low_bits(uint32_t limit, uint32_t row_count)
{
	unsigned int limit_len = bits_len(limit), count_len = bits_len(row_count);

	return limit_len > count_len ? limit_len - count_len : 0;
}

/*
 * A block of len bytes at p whose rows start at addresses 0 .. limit - 1 of it. Returns false when
 * it cannot be one. entity_bits, hot_bits and block_rows are those of the table.
 */
static RSYM_INLINE bool rsym_block_open(struct rsym_block *b, const uint8_t *p, uint32_t len,
					uint32_t limit, unsigned int block_rows,
					unsigned int entity_bits, unsigned int hot_bits)
{
	uint64_t header = load64(p);
	unsigned int form = header & 3, count_bits = RSYM_FORM_COUNT_BITS(form);
	unsigned int width_bits = RSYM_FORM_WIDTH_BITS(form), at = RSYM_FORM_BITS + RSYM_FLAG_BITS;
	uint32_t inner;

	b->p = p;
	b->bits = len * 8;
	b->limit = limit;
	b->row_count = block_rows;
	b->by_change = header >> 3 & 1;
	b->by_delta = header >> 4 & 1;
	b->step = 0;
	b->fresh = 0;
	b->anchor_bits = 0;
	if (header >> 2 & 1) {
		b->row_count = (uint32_t)bits_low(header >> at, RSYM_PARTIAL_BITS) + 1;
		at += RSYM_PARTIAL_BITS;
	}
	b->node_count = (uint32_t)bits_low(header >> at, count_bits);
	b->root_count = (uint32_t)bits_low(header >> (at + count_bits), count_bits);
	b->hot_count = (uint32_t)bits_low(header >> (at + 2 * count_bits), count_bits);
	at += 3 * count_bits;
	b->call_bits = (uint8_t)bits_low(header >> at, width_bits);
	b->line_bits = (uint8_t)bits_low(header >> (at + width_bits), width_bits);
	at += 2 * width_bits;
	if (b->by_delta) {
		b->step = (uint8_t)bits_low(header >> at, RSYM_GOLOMB_STEP_BITS);
		at += RSYM_GOLOMB_STEP_BITS;
		b->fresh = (uint8_t)(bits_low(header >> at, RSYM_GOLOMB_FRESH_BITS) +
				     RSYM_GOLOMB_FRESH_MIN);
		at += RSYM_GOLOMB_FRESH_BITS;
		b->anchor_bits = (uint8_t)bits_low(header >> at, RSYM_ANCHOR_BITS_BITS);
		at += RSYM_ANCHOR_BITS_BITS;
	}
	inner = b->node_count - b->root_count;
	if (!limit || b->root_count > b->node_count || b->hot_count > inner || b->call_bits > 32 ||
	    b->line_bits > 32 || (b->by_delta && !b->by_change))
		return false;
	b->low_bits = (uint8_t)rsym_low_bits(limit, b->row_count);
	b->index_bits = (uint8_t)bits_len(b->node_count);
	b->parent_bits = b->node_count ? (uint8_t)bits_len(b->node_count - 1) : 0;
	b->entity_bits = (uint8_t)entity_bits;
	b->hot_bits = (uint8_t)hot_bits;

	/* The largest terms are 128 * 32 and 1023 * (10 + 32 + 32): no sum overflows. */
	b->upper_at = at;
	b->upper_len = b->row_count - 1 + ((limit - 1) >> b->low_bits);
	b->low_at = b->upper_at + b->upper_len;
	b->changed_at = b->low_at + (b->row_count - 1) * b->low_bits;
	b->index_at = b->changed_at;
	b->index_count = b->row_count;
	if (b->by_change) {
		b->index_at += b->row_count - 1;
		if (b->index_at > b->bits)
			return false;
		b->index_count = 1 + bits_count_range(p, b->changed_at, b->row_count - 1);
	}
	b->root_at = b->index_at + b->index_count * b->index_bits;
	b->cold_at = b->root_at + b->root_count * entity_bits;
	b->hot_at =
		b->cold_at + (inner - b->hot_count) * (b->parent_bits + b->call_bits + entity_bits);
	b->line_at = b->hot_at + b->hot_count * (b->parent_bits + b->call_bits + hot_bits);
	b->stream_at = b->line_at;
	if (b->by_delta)
		b->stream_at += (b->row_count - 1) / RSYM_ANCHOR_ROWS *
				((uint32_t)b->anchor_bits + b->line_bits);
	else
		b->stream_at += b->row_count * b->line_bits;
	return b->stream_at <= b->bits;
}

/* The row that holds address x, below b->limit. */
static RSYM_INLINE uint32_t rsym_block_row(const struct rsym_block *b, uint32_t x)
{
	uint32_t high = x >> b->low_bits, low = (uint32_t)bits_low(x, b->low_bits);
	uint32_t at = 0, row, last = b->row_count - 1;
	uint64_t ones = 0;

	/* Starts are written without that of row 0, which is 0. In `upper` each start is a one,
	 * each step of the high part a zero: behind zero number `high` come the starts with that
	 * part. */
	if (high) {
		uint32_t zeros = high - 1;

		for (;; at += 64) {
			uint64_t word = ~bits_word(b->p, b->upper_at + at);
			uint32_t count = bits_count(word);

			if (at >= b->upper_len)
				return last; /* damaged: fewer zeros than there must be */
			if (zeros < count) {
				at += bits_select(word, zeros) + 1;
				break;
			}
			zeros -= count;
		}
		if (at > b->upper_len)
			return last;
	}
	row = at - high;
	for (uint32_t i = 0; row < last; i++, row++, ones >>= 1) {
		if (i % 64 == 0)
			ones = bits_word(b->p, b->upper_at + at + i);
		if (!(ones & 1) || bits_get(b->p, b->low_at + row * b->low_bits, b->low_bits) > low)
			break;
	}
	return row < last ? row : last;
}

/* First address of a row; the limit for one behind the last. */
static RSYM_INLINE uint32_t rsym_block_start(const struct rsym_block *b, uint32_t row)
{
	uint32_t ones = row - 1;

	if (row == 0)
		return 0;
	if (row >= b->row_count)
		return b->limit;
	for (uint32_t at = 0; at < b->upper_len; at += 64) {
		uint64_t word = bits_word(b->p, b->upper_at + at);
		uint32_t count;

		if (b->upper_len - at < 64)
			word = bits_low(word, b->upper_len - at);
		count = bits_count(word);
		if (ones < count) {
			uint32_t high = at + bits_select(word, ones) - (row - 1);

			return (uint32_t)(high << b->low_bits |
					  bits_get(b->p, b->low_at + (row - 1) * b->low_bits,
						   b->low_bits));
		}
		ones -= count;
	}
	return b->limit; /* damaged: fewer ones than there must be */
}

/* Which entry of the index belongs to a row. */
static RSYM_INLINE uint32_t rsym_block_change(const struct rsym_block *b, uint32_t row)
{
	return b->by_change ? bits_count_range(b->p, b->changed_at, row) : row;
}

/* The node of a row; b->node_count or more: no answer. */
static RSYM_INLINE uint32_t rsym_block_index(const struct rsym_block *b, uint32_t change)
{
	if (change >= b->index_count)
		return b->node_count;
	return (uint32_t)bits_get(b->p, b->index_at + change * b->index_bits, b->index_bits);
}

/* Node i, below b->node_count. */
static RSYM_INLINE void rsym_block_node(const struct rsym_block *b, uint32_t i, struct rsym_node *n)
{
	uint32_t head = b->parent_bits + b->call_bits, cold_end = b->node_count - b->hot_count;
	uint32_t at;

	n->is_hot = i >= cold_end;
	if (i < b->root_count) {
		n->parent = i;
		n->call = 0;
		n->entity =
			(uint32_t)bits_get(b->p, b->root_at + i * b->entity_bits, b->entity_bits);
		return;
	}
	at = n->is_hot ? b->hot_at + (i - cold_end) * (head + b->hot_bits)
		       : b->cold_at + (i - b->root_count) * (head + b->entity_bits);
	n->parent = (uint32_t)bits_get(b->p, at, b->parent_bits);
	n->call = (uint32_t)bits_get(b->p, at + b->parent_bits, b->call_bits);
	n->entity = (uint32_t)bits_get(b->p, at + head, n->is_hot ? b->hot_bits : b->entity_bits);
}

/* Before the first row of the stream that has row in its part: its start, or an anchor. */
static RSYM_INLINE struct rsym_lines rsym_lines_from(const struct rsym_block *b, uint32_t row)
{
	uint32_t part = row / RSYM_ANCHOR_ROWS;
	struct rsym_lines l = {.row = part * RSYM_ANCHOR_ROWS, .at = b->stream_at};

	if (part) {
		uint32_t at = b->line_at + (part - 1) * ((uint32_t)b->anchor_bits + b->line_bits);

		l.at += (uint32_t)bits_get(b->p, at, b->anchor_bits);
		l.line = (uint32_t)bits_get(b->p, at + b->anchor_bits, b->line_bits);
	}
	return l;
}

/*
 * Reads on through row and leaves l behind it: l->line is the row's line above the lowest of its
 * entity. Each row has an exp-Golomb code: as many zeros as bits needed above the order k, a one,
 * then those bits and the k low ones. Rows that name a node have their line in it (0: a gap),
 * others the difference: 0, 1, 2, 3 are +1, -1, +2, -2, for rows of one node that agree are one
 * row. Returns false when the stream is damaged.
 */
static RSYM_INLINE bool rsym_lines_to(const struct rsym_block *b, uint32_t row,
				      struct rsym_lines *l)
{
	uint64_t word = 0, changed = 0;
	uint32_t at = l->at, line = l->line, i = l->row;
	unsigned int have = 0, marks = 0;

	while (i <= row) {
		unsigned int k, zeros, n;
		bool fresh;
		uint32_t v;

		if (!marks) { /* bit i - 1 belongs to row i; row 0 has none and names its node */
			changed = i ? bits_word(b->p, b->changed_at + i - 1)
				    : bits_word(b->p, b->changed_at) << 1 | 1;
			marks = 64;
		}
		fresh = changed & 1;
		k = fresh ? b->fresh : b->step;
		zeros = (unsigned int)__builtin_ctzll(word | UINT64_C(1) << 63);
		n = zeros + k;
		if (zeros + n + 1 > have) {
			if (at > b->bits)
				return false;
			if (have < 64) { /* the code may only be cut: from its first bit on */
				word = bits_word(b->p, at);
				have = 64;
				continue;
			}
			if (zeros > 32)
				return false;
			v = (uint32_t)bits_get(b->p, at + zeros + 1, n);
			have = 0;
		} else {
			v = (uint32_t)bits_low(word >> zeros >> 1, n);
			word = word >> zeros >> n >> 1;
			have -= zeros + n + 1;
		}
		at += zeros + n + 1;
		v += (uint32_t)((UINT64_C(1) << n) - (UINT64_C(1) << k));
		line = fresh ? v : line + ((v >> 1) ^ -(v & 1)) + !(v & 1);
		changed >>= 1;
		marks--;
		i++;
	}
	l->row = i;
	l->at = at;
	l->line = line;
	return at <= b->bits;
}

#endif
