/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_BLOCK_H
#define RAWSTACK_RSYM_BLOCK_H
/*
 * One block of a table, read in place: up to 128 consecutive rows and every node they need, with
 * all its ancestors. rsym_block_open() computes where each column is and proves that what has a
 * known length lies inside the block; each later read is checked against the counts, so that no
 * input makes a reader leave the table or loop. It is inline because it is compiled once for each
 * kind of processor. rsym_block_writer.c writes blocks; FORMAT.md describes the bits.
 *
 * The block, row and node of an address are random to the branch predictor: half of such branches
 * would be mispredicted, at a cost of twenty instructions each. Where possible, both outcomes are
 * computed and one is selected.
 */
#include "rsym_bits.h"
#include "rsym_format.h"

/* Widths of the fields of the header, which is one word, from its lowest bit on. */
enum {
	RSYM_BY_CHANGE_BITS = 1,
	RSYM_BY_DELTA_BITS = 1,
	RSYM_NODES_BITS = 10, /* count of nodes, of roots, of frequent nodes */
	RSYM_WIDTH_BITS = 6,  /* width of a call line, of a line */
	RSYM_ROWS_BITS = 7,   /* rows - 1 */
	RSYM_GOLOMB_STEP_BITS = 2,
	RSYM_GOLOMB_FRESH_BITS = 3,
	RSYM_ANCHOR_BITS_BITS = 4, /* width of an anchor's offset in the stream */
	RSYM_HEADER_ZERO_BITS = 4,

	RSYM_GOLOMB_FRESH_MIN = 1, /* added to the stored order */
	RSYM_ANCHOR_ROWS =
		16, /* an anchor stands before each group of this many rows, except the first */
	RSYM_CHANGED_ROWS = 64, /* `changed` is padded to a multiple of this */
};

struct rsym_block {
	const uint8_t *p;
	uint32_t bits;  /* of the whole block */
	uint32_t limit; /* length of the block in addresses: all rows start below it */
	uint32_t row_count, node_count, root_count, frequent_count;
	uint32_t low_bits, index_bits, parent_bits, call_bits, line_bits, line_base_bits,
		frequent_bits;
	uint32_t delta; /* the header bits about a stream: see rsym_block_delta() */
	bool by_change; /* rows name their node only when it changes */
	bool by_delta;  /* lines are a stream of differences */
	/* Bit positions of the columns. `changed` and `upper` start at bytes. */
	uint32_t changed_at, upper_at, upper_len, low_at, root_at;
	uint32_t line_at; /* the lines, or the anchors of a stream */
	uint32_t index_at;
	uint32_t frequent_first; /* index of the first one */
	/* Width of an ordinary node and of a frequent one, and the bit position that node 0 would
	 * have if all nodes had that width, which may wrap below 0. */
	uint32_t other_len, frequent_len, other_zero, frequent_zero;
};

struct rsym_node {
	uint32_t parent;    /* its own index if it has no parent */
	uint32_t call;      /* line of the call minus the lowest line of the parent's line base */
	uint32_t line_base; /* line base; if is_frequent, its index in FREQUENT */
	bool is_frequent;
};

/* A position in a stream of lines: before the code of `row`. */
struct rsym_lines {
	uint32_t row, at, line;
};

/* Returns how many low bits of each start Elias-Fano coding stores verbatim. */
static RSYM_INLINE uint32_t rsym_low_bits(uint32_t limit, uint32_t row_count)
{
	uint32_t limit_len = bits_len32(limit), count_len = bits_len32(row_count);

	return limit_len > count_len ? limit_len - count_len : 0;
}

/* Takes the next field off a header. */
static RSYM_INLINE uint32_t rsym_header_take(uint64_t *header, unsigned int bits)
{
	uint32_t v = (uint32_t)bits_low(*header, bits);

	*header >>= bits;
	return v;
}

/* The parameters of a stream of lines. */
struct rsym_delta {
	uint32_t step, fresh; /* orders of the exp-Golomb codes */
	uint32_t anchor_bits;
};

static RSYM_INLINE struct rsym_delta rsym_block_delta(const struct rsym_block *b)
{
	uint64_t header = b->delta;
	struct rsym_delta d;

	d.step = rsym_header_take(&header, RSYM_GOLOMB_STEP_BITS);
	d.fresh = rsym_header_take(&header, RSYM_GOLOMB_FRESH_BITS) + RSYM_GOLOMB_FRESH_MIN;
	d.anchor_bits = rsym_header_take(&header, RSYM_ANCHOR_BITS_BITS);
	return d;
}

/*
 * Opens a block of len bytes at p, whose rows start less than limit behind its first address.
 * Returns false if the bytes cannot be a block. line_base_bits, frequent_bits and block_rows are
 * those of the table.
 */
static RSYM_INLINE bool rsym_block_open(struct rsym_block *b, const uint8_t *p, uint32_t len,
					uint32_t limit, uint32_t block_rows,
					uint32_t line_base_bits, uint32_t frequent_bits)
{
	uint64_t header = rsym_load64(p);
	uint32_t inner, other_at, frequent_at, line_count, line_len;

	b->p = p;
	b->bits = len * 8;
	b->limit = limit;
	b->by_change = rsym_header_take(&header, RSYM_BY_CHANGE_BITS);
	b->by_delta = rsym_header_take(&header, RSYM_BY_DELTA_BITS);
	b->node_count = rsym_header_take(&header, RSYM_NODES_BITS);
	b->root_count = rsym_header_take(&header, RSYM_NODES_BITS);
	b->frequent_count = rsym_header_take(&header, RSYM_NODES_BITS);
	b->call_bits = rsym_header_take(&header, RSYM_WIDTH_BITS);
	b->line_bits = rsym_header_take(&header, RSYM_WIDTH_BITS);
	b->row_count = rsym_header_take(&header, RSYM_ROWS_BITS) + 1;
	b->delta = (uint32_t)header;
	inner = b->node_count - b->root_count;
	if (!limit || b->row_count > block_rows || b->root_count > b->node_count ||
	    b->frequent_count > inner || b->call_bits > 32 || b->line_bits > 32 ||
	    b->by_delta > b->by_change)
		return false;
	b->low_bits = rsym_low_bits(limit, b->row_count);
	b->index_bits = bits_len32(b->node_count);
	b->parent_bits = bits_len32(b->node_count - (b->node_count > 0));
	b->line_base_bits = line_base_bits;
	b->frequent_bits = frequent_bits;

	/* No sum overflows: the largest terms are 128 * 32 and 1023 * (10 + 32 + 32). */
	b->changed_at = 8 * sizeof(header);
	b->upper_at =
		b->changed_at + (-(uint32_t)b->by_change &
				 ((b->row_count + RSYM_CHANGED_ROWS - 1) & -RSYM_CHANGED_ROWS));
	b->upper_len = b->row_count + ((limit - 1) >> b->low_bits);
	b->low_at = b->upper_at + b->upper_len;
	b->root_at = b->low_at + (b->row_count - 1) * b->low_bits;
	b->other_len = b->parent_bits + b->call_bits + line_base_bits;
	b->frequent_len = b->parent_bits + b->call_bits + frequent_bits;
	other_at = b->root_at + b->root_count * line_base_bits;
	b->other_zero = other_at - b->root_count * b->other_len;
	frequent_at = other_at + (inner - b->frequent_count) * b->other_len;
	b->frequent_first = b->node_count - b->frequent_count;
	b->frequent_zero = frequent_at - b->frequent_first * b->frequent_len;
	b->line_at = frequent_at + b->frequent_count * b->frequent_len;
	line_count = b->by_delta ? (b->row_count - 1) / RSYM_ANCHOR_ROWS : b->row_count;
	line_len = (-(uint32_t)b->by_delta & rsym_block_delta(b).anchor_bits) + b->line_bits;
	b->index_at = b->line_at + line_count * line_len;
	return b->index_at <= b->bits;
}

/*
 * Returns the position in `upper` where the starts with the high part `high` begin, which is behind
 * high + 1 zeros. It is more than upper_len if there are fewer zeros, which means damage. `words`,
 * a constant, is the number of words that cover `upper`.
 */
static RSYM_INLINE uint32_t rsym_block_part(const struct rsym_block *b, uint32_t high,
					    unsigned int words)
{
	const uint8_t *p = b->p + b->upper_at / 8, *end = p + b->upper_len / 8;
	uint32_t word_at = 0, left = high, sum = 0;
	struct bits_tally next = bits_tally(~rsym_load64(p)), zeros = next;

#pragma GCC unroll 8
	for (unsigned int i = 1; i < words; i++) {
		uint64_t behind;

		sum += bits_tally_count(&next);
		p += 8;
		next = bits_tally(~rsym_load64(p < end ? p : end));
		behind = -(uint64_t)(high >= sum);
		word_at += behind & 64;
		left ^= (left ^ (high - sum)) & (uint32_t)behind;
		zeros.word ^= (zeros.word ^ next.word) & behind;
		zeros.sums ^= (zeros.sums ^ next.sums) & behind;
	}
	return word_at + bits_tally_select(&zeros, left % 64) + 1;
}

/* Returns the row that holds address x, which is below b->limit. */
static RSYM_INLINE uint32_t rsym_block_row(const struct rsym_block *b, uint32_t x)
{
	/* bits_rank() cannot compare numbers of 0 bits. So without low bits it compares one bit,
	 * which always counts as "at most". */
	uint32_t none = !b->low_bits, width = b->low_bits + none, high = x >> b->low_bits;
	uint32_t low = (uint32_t)bits_low(x, b->low_bits) + none;
	uint32_t last = b->row_count - 1, row, at;

	/* The start of row 0 is 0 and is not written. In `upper` each start is a one, and each step
	 * of the high part a zero. */
	at = rsym_block_part(b, high, last < RSYM_ROWS_MAX / 2 ? 3 : 6);
	/* `at` is behind the end only in a damaged block, which has too few zeros. */
	for (row = at - high - 1; row < last && at <= b->upper_len;) {
		uint64_t word =
			rsym_load64(b->p + (b->upper_at + at) / 8) >> (b->upper_at + at) % 8;
		uint32_t run = (uint32_t)__builtin_ctzll(~word | UINT64_C(1) << 57);

		run = run < last - row ? run : last - row;
		if (run * width <= 57 && run < 57)
			return row +
			       bits_rank(b->p, b->low_at + row * b->low_bits, width, run, low);
		/* There are too many to compare at once: take them one by one. */
		if (bits_get(b->p, b->low_at + row * b->low_bits, b->low_bits) > low)
			break;
		row++;
		at++;
	}
	return row < last ? row : last;
}

/* Returns the first address of a row, or the limit for one behind the last. */
static RSYM_INLINE uint32_t rsym_block_start(const struct rsym_block *b, uint32_t row)
{
	const uint8_t *p = b->p + b->upper_at / 8;
	uint32_t ones = row - 1;

	if (row == 0)
		return 0;
	if (row >= b->row_count)
		return b->limit;
	for (uint32_t at = 0; at < b->upper_len; at += 64, p += 8) {
		uint64_t word = rsym_load64(p);
		struct bits_tally t;
		uint32_t count;

		if (b->upper_len - at < 64)
			word = bits_low(word, b->upper_len - at);
		t = bits_tally(word);
		count = bits_tally_count(&t);
		if (ones < count) {
			uint32_t high = at + bits_tally_select(&t, ones) - row;

			return (uint32_t)(high << b->low_bits |
					  bits_get(b->p, b->low_at + (row - 1) * b->low_bits,
						   b->low_bits));
		}
		ones -= count;
	}
	return b->limit; /* damaged: too few ones */
}

/* Counts the rows up to and including `row` that name their node. Returns row + 1 if all
 * rows do. */
static RSYM_INLINE uint32_t rsym_block_changes(const struct rsym_block *b, uint32_t row)
{
	const uint8_t *p = b->p + b->changed_at / 8;
	uint64_t low = UINT64_MAX >> (63 - row % 64), all = -(uint64_t)(row / 64);
	uint32_t count = bits_count(rsym_load64(p) & (low | all));

	if (b->row_count > RSYM_CHANGED_ROWS)
		count += bits_count(rsym_load64(p + 8) & low & all);
	return b->by_change ? count : row + 1;
}

/* Returns the node of a row; b->node_count or more means no answer. */
static RSYM_INLINE uint32_t rsym_block_index(const struct rsym_block *b, uint32_t row)
{
	uint32_t changes = rsym_block_changes(b, row);
	uint32_t at = b->index_at + changes * b->index_bits;

	/* Row 0 always names its node, and the index is inside the block; otherwise the block is
	 * damaged. */
	if (!changes || at > b->bits)
		return b->node_count;
	return (uint32_t)bits_get(b->p, at - b->index_bits, b->index_bits);
}

/* Reads node i, which is below b->node_count. */
static RSYM_INLINE void rsym_block_node(const struct rsym_block *b, uint32_t i, struct rsym_node *n)
{
	uint32_t at = b->other_zero, len = b->other_len, line_base_len = b->line_base_bits,
		 frequent;
	uint64_t word;

	n->is_frequent = i >= b->frequent_first;
	if (i < b->root_count) {
		n->parent = i;
		n->call = 0;
		n->line_base =
			(uint32_t)bits_get(b->p, b->root_at + i * line_base_len, line_base_len);
		return;
	}
	frequent = -(uint32_t)n->is_frequent;
	at ^= (at ^ b->frequent_zero) & frequent;
	len ^= (len ^ b->frequent_len) & frequent;
	line_base_len ^= (line_base_len ^ b->frequent_bits) & frequent;
	at += i * len;
	word = rsym_load64(b->p + at / 8) >> at % 8;
	n->parent = (uint32_t)bits_low(word, b->parent_bits);
	n->call = (uint32_t)bits_low(word >> b->parent_bits, b->call_bits);
	n->line_base = (uint32_t)bits_get(b->p, at + len - line_base_len, line_base_len);
}

/* Returns the nearest position before `row` at which the stream can be entered: its start, or an
 * anchor. */
static RSYM_INLINE struct rsym_lines rsym_lines_from(const struct rsym_block *b, uint32_t row)
{
	uint32_t part = row / RSYM_ANCHOR_ROWS;
	struct rsym_lines l = {.row = part * RSYM_ANCHOR_ROWS};
	uint32_t anchor_bits = rsym_block_delta(b).anchor_bits;

	/* The stream begins behind the node indexes. */
	l.at = b->index_at + rsym_block_changes(b, b->row_count - 1) * b->index_bits;
	if (part) {
		uint32_t at = b->line_at + (part - 1) * (anchor_bits + b->line_bits);

		l.at += (uint32_t)bits_get(b->p, at, anchor_bits);
		l.line = (uint32_t)bits_get(b->p, at + anchor_bits, b->line_bits);
	}
	return l;
}

/*
 * Reads the stream up to and including row and leaves l behind it: l->line is then the row's line
 * minus the lowest of its line base. Each row has an exp-Golomb code: as many zeros as bits needed
 * above the order k, a one, then those bits and the k low ones. A row that names a node codes its
 * line (0 in a gap), any other the difference from the row before: 0, 1, 2, 3 mean +1, -1, +2, -2.
 * No code means 0, because equal neighbours are one row. Returns false if the stream is damaged.
 */
static RSYM_INLINE bool rsym_lines_to(const struct rsym_block *b, uint32_t row,
				      struct rsym_lines *l)
{
	struct rsym_delta d = rsym_block_delta(b);
	uint64_t word = 0, changed = 0;
	uint32_t at = l->at, line = l->line, i = l->row;
	unsigned int have = 0, marks = 0;

	while (i <= row) {
		unsigned int k, zeros, n;
		bool fresh;
		uint32_t v;

		if (!marks) {
			changed = rsym_load64(b->p + b->changed_at / 8 + i / 64 * 8) >> i % 64;
			marks = 64 - i % 64;
		}
		fresh = changed & 1;
		k = fresh ? d.fresh : d.step;
		zeros = (unsigned int)__builtin_ctzll(word | UINT64_C(1) << 63);
		n = zeros + k;
		if (zeros + n + 1 > have) {
			if (at > b->bits)
				return false;
			if (have < 64) { /* the word may have only a part of the code */
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
