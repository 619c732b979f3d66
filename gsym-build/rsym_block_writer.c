/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_block_writer.h"

#include "rsym_block.h"

/*
 * Reading a stream of lines costs up to 70 ns a lookup, so it must save this many bits a row, in
 * eighths: it does in C, where neighbours differ by little and lines are a third of a table. Where
 * much is inlined (smaller blocks) lookups have more else to do and lines are few bytes: from 14 to
 * 26 such tables grow by 3 % and batches are answered 10 % sooner.
 */
enum {
	DELTA_WORTH_SHALLOW = 14,
	DELTA_WORTH_DEEP = 26,
};

/* What is chosen and derived before the first bit is written. */
struct plan {
	const struct rsym_block_writer *w;
	struct bits_out bits;
	uint32_t limit;
	uint32_t order[RSYM_NODES_MAX]; /* of nodes in the block: roots, others, hot ones */
	uint32_t place[RSYM_NODES_MAX]; /* the inverse */
	uint32_t root_count, hot_count, change_count;
	unsigned int low_bits, index_bits, parent_bits, call_bits, line_bits;
	unsigned int step, fresh;
	struct {
		uint32_t at, line;
	} anchors[RSYM_ROWS_MAX / RSYM_ANCHOR_ROWS];
	uint32_t anchor_count;
	unsigned int anchor_bits, anchor_line_bits;
	bool by_change, by_delta;
};

static bool is_change(const struct rsym_block_writer *w, uint32_t row)
{
	return row == 0 || w->rows[row].node != w->rows[row - 1].node;
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
		if (w->nodes[i].parent != RSYM_BLOCK_NONE && w->nodes[i].hot == RSYM_BLOCK_NONE)
			p->order[count++] = i;
	p->hot_count = w->node_count - count;
	for (uint32_t i = 0; i < w->node_count; i++)
		if (w->nodes[i].parent != RSYM_BLOCK_NONE && w->nodes[i].hot != RSYM_BLOCK_NONE)
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

/* The number that is coded for a row in a stream of lines; returns whether it is the line itself,
 * for a row that names its node. */
static bool stream_code(const struct rsym_block_writer *w, uint32_t row, uint32_t *ret)
{
	const struct rsym_block_row *r = &w->rows[row];

	if (is_change(w, row)) {
		*ret = r->node == RSYM_BLOCK_NONE ? 0 : r->line;
		return true;
	}
	*ret = delta_code(r->line, r[-1].line);
	return false;
}

/* The best orders of the codes; returns the bits of the stream. */
static uint32_t plan_stream(struct plan *p)
{
	enum {
		STEPS = 1 << RSYM_GOLOMB_STEP_BITS,
		FRESHES = 1 << RSYM_GOLOMB_FRESH_BITS
	};
	uint32_t step_len[STEPS] = {0}, fresh_len[FRESHES] = {0};

	for (uint32_t i = 0; i < p->w->row_count; i++) {
		uint32_t code;
		bool fresh = stream_code(p->w, i, &code);

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

/* Returns the bits of all anchors. */
static uint32_t plan_anchors(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t at = 0, line_max = 0;

	for (uint32_t i = 0; i < w->row_count; i++) {
		uint32_t code;
		bool fresh = stream_code(w, i, &code);

		if (i && i % RSYM_ANCHOR_ROWS == 0) {
			/* The line before counts only when no code says it anew. */
			uint32_t line = fresh ? 0 : w->rows[i - 1].line;

			p->anchors[p->anchor_count].at = at;
			p->anchors[p->anchor_count++].line = line;
			if (line > line_max)
				line_max = line;
			p->anchor_bits = bits_len(at);
		}
		at += golomb_len(code, order_of(p, fresh));
	}
	p->anchor_line_bits = bits_len(line_max);
	return p->anchor_count * (p->anchor_bits + p->anchor_line_bits);
}

static void plan_rows(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t worth = w->block_rows == RSYM_ROWS_MAX ? DELTA_WORTH_SHALLOW : DELTA_WORTH_DEEP;
	uint32_t plain, changes, stream, line_max = 0;

	for (uint32_t i = 0; i < w->row_count; i++) {
		p->change_count += is_change(w, i);
		if (w->rows[i].node != RSYM_BLOCK_NONE && w->rows[i].line > line_max)
			line_max = w->rows[i].line;
	}
	plain = w->row_count * p->index_bits;
	changes = w->row_count - 1 + p->change_count * p->index_bits;
	p->by_change = changes <= plain;
	p->line_bits = bits_len(line_max);
	stream = changes + plan_stream(p) + RSYM_GOLOMB_STEP_BITS + RSYM_GOLOMB_FRESH_BITS +
		 RSYM_ANCHOR_BITS_BITS;
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

static void put_header(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	unsigned int form = 0;
	bool partial = w->row_count != w->block_rows;

	while (bits_len(w->node_count) > RSYM_FORM_COUNT_BITS(form) ||
	       bits_len(p->call_bits) > RSYM_FORM_WIDTH_BITS(form) ||
	       bits_len(p->line_bits) > RSYM_FORM_WIDTH_BITS(form))
		form++;
	bits_put(&p->bits, form, RSYM_FORM_BITS);
	bits_put(&p->bits, partial | p->by_change << 1 | p->by_delta << 2, RSYM_FLAG_BITS);
	if (partial)
		bits_put(&p->bits, w->row_count - 1, RSYM_PARTIAL_BITS);
	bits_put(&p->bits, w->node_count, RSYM_FORM_COUNT_BITS(form));
	bits_put(&p->bits, p->root_count, RSYM_FORM_COUNT_BITS(form));
	bits_put(&p->bits, p->hot_count, RSYM_FORM_COUNT_BITS(form));
	bits_put(&p->bits, p->call_bits, RSYM_FORM_WIDTH_BITS(form));
	bits_put(&p->bits, p->line_bits, RSYM_FORM_WIDTH_BITS(form));
	if (p->by_delta) {
		bits_put(&p->bits, p->step, RSYM_GOLOMB_STEP_BITS);
		bits_put(&p->bits, p->fresh, RSYM_GOLOMB_FRESH_BITS);
		bits_put(&p->bits, p->anchor_bits, RSYM_ANCHOR_BITS_BITS);
	}
}

static void put_starts(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;
	uint32_t high = 0;

	for (uint32_t i = 1; i < w->row_count; i++) {
		for (; high < w->rows[i].start >> p->low_bits; high++)
			bits_put(&p->bits, 0, 1);
		bits_put(&p->bits, 1, 1);
	}
	for (; high < (p->limit - 1) >> p->low_bits; high++)
		bits_put(&p->bits, 0, 1);
	for (uint32_t i = 1; i < w->row_count; i++)
		bits_put(&p->bits, bits_low(w->rows[i].start, p->low_bits), p->low_bits);
}

static void put_index(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 1; p->by_change && i < w->row_count; i++)
		bits_put(&p->bits, is_change(w, i), 1);
	for (uint32_t i = 0; i < w->row_count; i++) {
		uint32_t node = w->rows[i].node;

		if (!p->by_change || is_change(w, i))
			bits_put(&p->bits, node == RSYM_BLOCK_NONE ? w->node_count : p->place[node],
				 p->index_bits);
	}
}

static void put_nodes(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	for (uint32_t i = 0; i < w->node_count; i++) {
		const struct rsym_block_node *n = &w->nodes[p->order[i]];

		if (i >= p->root_count) {
			bits_put(&p->bits, p->place[n->parent], p->parent_bits);
			bits_put(&p->bits, n->call, p->call_bits);
		}
		if (i < w->node_count - p->hot_count)
			bits_put(&p->bits, n->entity, w->entity_bits);
		else
			bits_put(&p->bits, n->hot, w->hot_bits);
	}
}

static void put_lines(struct plan *p)
{
	const struct rsym_block_writer *w = p->w;

	if (!p->by_delta) {
		for (uint32_t i = 0; i < w->row_count; i++)
			bits_put(&p->bits, w->rows[i].node == RSYM_BLOCK_NONE ? 0 : w->rows[i].line,
				 p->line_bits);
		return;
	}
	for (uint32_t i = 0; i < p->anchor_count; i++) {
		bits_put(&p->bits, p->anchors[i].at, p->anchor_bits);
		bits_put(&p->bits, p->anchors[i].line, p->line_bits);
	}
	for (uint32_t i = 0; i < w->row_count; i++) {
		uint32_t code;
		bool fresh = stream_code(w, i, &code);

		golomb_put(&p->bits, code, order_of(p, fresh));
	}
}

void rsym_block_write(const struct rsym_block_writer *w, uint32_t limit, struct buf *out)
{
	struct plan p = {.w = w, .bits = {.out = out}, .limit = limit};

	p.low_bits = rsym_low_bits(limit, w->row_count);
	plan_nodes(&p);
	plan_rows(&p);
	put_header(&p);
	put_starts(&p);
	put_index(&p);
	put_nodes(&p);
	put_lines(&p);
	bits_flush(&p.bits);
}
