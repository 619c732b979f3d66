/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_block_writer.h"

#include "rsym_block.h"

/*
 * A stream of lines is used only if it saves this many eighths of a bit per row, because reading
 * one costs up to 70 ns a lookup. It saves that in C, where neighbouring lines differ little and
 * lines are a third of a table. With much inlining (smaller blocks) lines are a small part of a
 * table; raising the value from 14 to 26 makes such tables 3 % larger and batches 10 % faster.
 */
enum {
	DELTA_WORTH_SHALLOW = 14,
	DELTA_WORTH_DEEP = 26,
};

/* The layout of a block, which is decided before its first bit is written. */
struct plan {
	const struct rsym_block_writer *w;
	struct bits_out bits;
	uint32_t limit;
	uint32_t order[RSYM_NODES_MAX]; /* roots, others, frequent nodes */
	uint32_t place[RSYM_NODES_MAX]; /* the inverse of order */
	uint64_t changed[RSYM_ROWS_MAX /
			 RSYM_CHANGED_ROWS]; /* a bit for each row that names its node */
	uint32_t codes[RSYM_ROWS_MAX];       /* codes of a stream of lines */
	uint32_t root_count, frequent_count, change_count;
	unsigned int low_bits, index_bits, parent_bits, call_bits, line_bits;
	unsigned int step, fresh;
	struct {
		uint32_t at, line;
	} anchors[RSYM_ROWS_MAX / RSYM_ANCHOR_ROWS];
	uint32_t anchor_count;
	unsigned int anchor_bits, anchor_line_bits;
	bool by_change, by_delta;
};

static bool is_change(const struct plan *p, uint32_t row)
{
	return p->changed[row / RSYM_CHANGED_ROWS] >> row % RSYM_CHANGED_ROWS & 1;
}

static uint32_t changed_bits(const struct rsym_block_writer *w)
{
	return (w->row_count + RSYM_CHANGED_ROWS - 1) / RSYM_CHANGED_ROWS * RSYM_CHANGED_ROWS;
}

static void order_nodes(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].parent == RSYM_BLOCK_NONE)
			p->order[count++] = i;
	p->root_count = count;
	for (uint32_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].parent != RSYM_BLOCK_NONE &&
		    w->nodes[i].frequent == RSYM_BLOCK_NONE)
			p->order[count++] = i;
	p->frequent_count = w->node_count - count;
	for (uint32_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].parent != RSYM_BLOCK_NONE &&
		    w->nodes[i].frequent != RSYM_BLOCK_NONE)
			p->order[count++] = i;
	for (uint32_t i = 0; i < count; i++)
		p->place[p->order[i]] = i;
}

static uint32_t delta_code(uint32_t line, uint32_t before)
{
	uint32_t d = line - before;

	return d <= UINT32_MAX / 2 ? 2 * (d - 1) : 2 * (-d - 1) + 1;
}

static unsigned int golomb_len(uint32_t v, unsigned int k)
{
	return 2 * bits_len((v >> k) + UINT64_C(1)) - 1 + k;
}

static void golomb_put(struct bits_out *b, uint32_t v, unsigned int k)
{
	unsigned int zeros = bits_len((v >> k) + UINT64_C(1)) - 1;
	uint64_t rest = v + (UINT64_C(1) << k) - (UINT64_C(1) << (zeros + k));

	bits_put(b, UINT64_C(1) << zeros, zeros + 1);
	bits_put(b, rest, zeros + k);
}

/* Marks the rows that name their node, and computes the number that a stream of lines codes for
 * each row: the line for those, the difference for others. Returns the largest line. */
static uint32_t plan_codes(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t line_max = 0;

	for (uint32_t i = 0; i < w->row_count; i++) {
		const struct rsym_block_row *r = &w->rows[i];
		bool fresh = i == 0 || r->node != r[-1].node;
		uint32_t line = r->node == RSYM_BLOCK_NONE ? 0 : r->line;

		p->changed[i / RSYM_CHANGED_ROWS] |= (uint64_t)fresh << i % RSYM_CHANGED_ROWS;
		p->change_count += fresh;
		p->codes[i] = fresh ? line : delta_code(r->line, r[-1].line);
		if (line > line_max)
			line_max = line;
	}
	return line_max;
}

/* Chooses the best orders of the codes. Returns the length of the stream in bits. */
static uint32_t plan_stream(struct plan *p)
{
	enum {
		STEPS = 1 << RSYM_GOLOMB_STEP_BITS,
		FRESHES = 1 << RSYM_GOLOMB_FRESH_BITS
	};
	uint32_t step_len[STEPS] = {0}, fresh_len[FRESHES] = {0};

	for (uint32_t i = 0; i < p->w->row_count; i++) {
		uint32_t code = p->codes[i];
		bool fresh = is_change(p, i);

		for (unsigned int k = 0; !fresh && k < STEPS; k++)
			step_len[k] += golomb_len(code, k);
		for (unsigned int k = 0; fresh && k < FRESHES; k++)
			fresh_len[k] += golomb_len(code, k + RSYM_GOLOMB_FRESH_MIN);
	}
	p->step = 0;
	for (unsigned int k = 1; k < STEPS; k++)
		if (step_len[k] < step_len[p->step])
			p->step = k;
	p->fresh = 0;
	for (unsigned int k = 1; k < FRESHES; k++)
		if (fresh_len[k] < fresh_len[p->fresh])
			p->fresh = k;
	return step_len[p->step] + fresh_len[p->fresh];
}

static unsigned int order_of(const struct plan *p, bool fresh)
{
	return fresh ? p->fresh + RSYM_GOLOMB_FRESH_MIN : p->step;
}

/* Places the anchors. Returns their length in bits. */
static uint32_t plan_anchors(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t at = 0, line_max = 0;

	for (uint32_t i = 0; i < w->row_count; i++) {
		bool fresh = is_change(p, i);

		if (i && i % RSYM_ANCHOR_ROWS == 0) {
			/* The line before this row is needed only if the row codes a difference. */
			uint32_t line = fresh ? 0 : w->rows[i - 1].line;

			p->anchors[p->anchor_count].at = at;
			p->anchors[p->anchor_count++].line = line;
			if (line > line_max)
				line_max = line;
			p->anchor_bits = bits_len(at);
		}
		at += golomb_len(p->codes[i], order_of(p, fresh));
	}
	p->anchor_line_bits = bits_len(line_max);
	return p->anchor_count * (p->anchor_bits + p->anchor_line_bits);
}

static void plan_rows(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t worth = w->block_rows == RSYM_ROWS_MAX ? DELTA_WORTH_SHALLOW : DELTA_WORTH_DEEP;
	uint32_t plain, changes, stream, line_max = plan_codes(p);

	plain = w->row_count * p->index_bits;
	changes = changed_bits(w) + p->change_count * p->index_bits;
	p->by_change = changes <= plain;
	p->line_bits = bits_len(line_max);
	stream = changes + plan_stream(p);
	stream += plan_anchors(p);
	if (stream + w->row_count * worth / 8 <
	    (p->by_change ? changes : plain) + w->row_count * p->line_bits) {
		p->by_change = true;
		p->by_delta = true;
		p->line_bits = p->anchor_line_bits;
	}
}

static void plan_nodes(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t call_max = 0;

	for (uint32_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].parent != RSYM_BLOCK_NONE && w->nodes[i].call > call_max)
			call_max = w->nodes[i].call;
	p->call_bits = bits_len(call_max);
	p->index_bits = bits_len(w->node_count);
	p->parent_bits = w->node_count ? bits_len(w->node_count - 1) : 0;
	order_nodes(p);
}

static void put_block_header(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	bits_put(&p->bits, p->by_change, RSYM_BY_CHANGE_BITS);
	bits_put(&p->bits, p->by_delta, RSYM_BY_DELTA_BITS);
	bits_put(&p->bits, w->node_count, RSYM_NODES_BITS);
	bits_put(&p->bits, p->root_count, RSYM_NODES_BITS);
	bits_put(&p->bits, p->frequent_count, RSYM_NODES_BITS);
	bits_put(&p->bits, p->call_bits, RSYM_WIDTH_BITS);
	bits_put(&p->bits, p->line_bits, RSYM_WIDTH_BITS);
	bits_put(&p->bits, w->row_count - 1, RSYM_ROWS_BITS);
	bits_put(&p->bits, p->by_delta ? p->step : 0, RSYM_GOLOMB_STEP_BITS);
	bits_put(&p->bits, p->by_delta ? p->fresh : 0, RSYM_GOLOMB_FRESH_BITS);
	bits_put(&p->bits, p->by_delta ? p->anchor_bits : 0, RSYM_ANCHOR_BITS_BITS);
	bits_put(&p->bits, 0, RSYM_HEADER_ZERO_BITS);
	for (uint32_t i = 0; p->by_change && i < w->row_count; i += RSYM_CHANGED_ROWS)
		bits_put(&p->bits, p->changed[i / RSYM_CHANGED_ROWS], RSYM_CHANGED_ROWS);
}

static void put_zero_bits(struct bits_out *b, uint32_t count)
{
	for (; count > 64; count -= 64)
		bits_put(b, 0, 64);
	bits_put(b, 0, count);
}

static void put_starts(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t high = 0, to;

	bits_put(&p->bits, 0, 1);
	for (uint32_t i = 1; i < w->row_count; i++, high = to) {
		to = w->rows[i].start >> p->low_bits;
		put_zero_bits(&p->bits, to - high);
		bits_put(&p->bits, 1, 1);
	}
	put_zero_bits(&p->bits, ((p->limit - 1) >> p->low_bits) - high);
	for (uint32_t i = 1; i < w->row_count; i++)
		bits_put(&p->bits, bits_low(w->rows[i].start, p->low_bits), p->low_bits);
}

static void put_index(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 0; i < w->row_count; i++) {
		uint32_t node = w->rows[i].node;

		if (!p->by_change || is_change(p, i))
			bits_put(&p->bits, node == RSYM_BLOCK_NONE ? w->node_count : p->place[node],
				 p->index_bits);
	}
}

static void put_block_nodes(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 0; i < w->node_count; i++) {
		const struct rsym_block_node *n = &w->nodes[p->order[i]];

		if (i >= p->root_count) {
			bits_put(&p->bits, p->place[n->parent], p->parent_bits);
			bits_put(&p->bits, n->call, p->call_bits);
		}
		if (i < w->node_count - p->frequent_count)
			bits_put(&p->bits, n->line_base, w->line_base_bits);
		else
			bits_put(&p->bits, n->frequent, w->frequent_bits);
	}
}

/* Writes the lines, or the anchors of a stream. */
static void put_lines(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 0; !p->by_delta && i < w->row_count; i++)
		bits_put(&p->bits, w->rows[i].node == RSYM_BLOCK_NONE ? 0 : w->rows[i].line,
			 p->line_bits);
	for (uint32_t i = 0; p->by_delta && i < p->anchor_count; i++) {
		bits_put(&p->bits, p->anchors[i].at, p->anchor_bits);
		bits_put(&p->bits, p->anchors[i].line, p->line_bits);
	}
}

static void put_stream(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 0; p->by_delta && i < w->row_count; i++)
		golomb_put(&p->bits, p->codes[i], order_of(p, is_change(p, i)));
}

void rsym_block_write(const struct rsym_block_writer *w, uint32_t limit, struct buf *out)
{
	struct plan p = {.w = w, .bits = {.out = out}, .limit = limit};

	p.low_bits = rsym_low_bits(limit, w->row_count);
	plan_nodes(&p);
	plan_rows(&p);
	put_block_header(&p);
	put_starts(&p);
	put_block_nodes(&p);
	put_lines(&p);
	put_index(&p);
	put_stream(&p);
	bits_flush(&p.bits);
}
