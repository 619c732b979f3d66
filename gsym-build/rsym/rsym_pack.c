/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_pack.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "rsym_bits.h"
#include "rsym_block_writer.h"
#include "rsym_format.h"

enum {
	SLOTS = 4096, /* above four times RSYM_NODES_MAX; a power of two */
	FREQUENT_BITS_MAX = 10,
	SAMPLE = 4, /* one block in this many is sampled to find frequent line bases */
	/* The rows of a part. Parts are packed in parallel, so no block crosses from one into the
	 * next; this is a multiple of all block sizes. */
	PART_ROWS = 1 << 15,
};

/* The range of a span is below 4 GiB, with room for the limit of its last block. */
#define SPAN_MAX (UINT32_MAX - 1)

struct slot {
	uint32_t node, line_base; /* the key; a node determines its parent, but not its line base */
	uint32_t stamp;           /* of the block that the slot belongs to */
	uint32_t local;
};

struct pack {
	const struct rsym_content *c;
	const struct rsym_line_bases *e;
	uint32_t *frequent_of; /* by line base: its index in FREQUENT, or RSYM_BLOCK_NONE */
	struct slot slots[SLOTS];
	uint32_t stamp;
	struct rsym_block_writer block;
};

bool rsym_pack_is_shallow(const struct rsym_content *c)
{
	uint64_t rows = 0, frames = 0;

	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].node != RSYM_NONE) {
			rows++;
			frames += c->nodes[c->rows[i].node].depth + 1;
		}
	return 2 * frames < 3 * rows;
}

static struct slot *slot_of_node(struct pack *p, uint32_t node, uint32_t line_base)
{
	uint32_t i = (node * 0x9e3779b1u ^ line_base * 0x85ebca6bu) >> 7;

	for (;; i++) {
		struct slot *s = &p->slots[i % SLOTS];

		if (s->stamp != p->stamp || (s->node == node && s->line_base == line_base))
			return s;
	}
}

/* Returns the index in the block of a node with a line base, or RSYM_BLOCK_NONE if it does not fit.
 * A new node is added with all its ancestors. */
static uint32_t local_of(struct pack *p, uint32_t node, uint32_t line_base)
{
	struct rsym_block_writer *b = &p->block;
	struct {
		uint32_t node, line_base, call;
	} path[LIMIT_INLINE_DEPTH + 1];
	uint32_t depth = 0, local = RSYM_BLOCK_NONE;

	while (node != RSYM_NONE) {
		const struct rsym_content_node *n = &p->c->nodes[node];
		const struct slot *s = slot_of_node(p, node, line_base);

		if (s->stamp == p->stamp) {
			local = s->local;
			break;
		}
		path[depth].node = node;
		path[depth].line_base = line_base;
		path[depth].call = 0;
		if (n->parent != RSYM_NONE)
			line_base = rsym_line_bases_find(p->e, p->c->nodes[n->parent].function,
							 n->call_file, n->call_line, RSYM_NONE,
							 &path[depth].call);
		node = n->parent;
		depth++;
	}
	if (b->node_count + depth > RSYM_NODES_MAX)
		return RSYM_BLOCK_NONE;
	while (depth--) {
		struct slot *s = slot_of_node(p, path[depth].node, path[depth].line_base);

		*s = (struct slot){.node = path[depth].node,
				   .line_base = path[depth].line_base,
				   .stamp = p->stamp,
				   .local = b->node_count};
		b->nodes[b->node_count] = (struct rsym_block_node){
			.parent = local,
			.call = path[depth].call,
			.line_base = path[depth].line_base,
			.frequent = p->frequent_of[path[depth].line_base],
		};
		local = b->node_count++;
	}
	return local;
}

/* Fills the block with rows from `first` on, up to `end`; returns how many, at least one. */
static uint32_t fill_block(struct pack *p, size_t first, size_t end, uint64_t span_base)
{
	struct rsym_block_writer *b = &p->block;
	const struct rsym_content *c = p->c;
	uint32_t node = RSYM_NONE, line_base = RSYM_NONE,
		 local = RSYM_BLOCK_NONE; /* those of the previous row */

	b->row_count = 0;
	b->node_count = 0;
	p->stamp++;
	for (size_t i = first; i < end && b->row_count < b->block_rows; i++) {
		const struct rsym_content_row *r = &c->rows[i];
		struct rsym_block_row row = {.start = (uint32_t)(c->starts[i] - c->starts[first]),
					     .node = RSYM_BLOCK_NONE};

		if (c->starts[i] - span_base >= SPAN_MAX)
			break;
		if (r->node != RSYM_NONE) {
			uint32_t before = line_base;

			line_base = rsym_line_bases_find(p->e, c->nodes[r->node].function, r->file,
							 r->line, before, &row.line);
			if (r->node != node || line_base != before)
				local = local_of(p, r->node, line_base);
			if (local == RSYM_BLOCK_NONE)
				break;
			node = r->node;
			row.node = local;
		}
		b->rows[b->row_count++] = row;
	}
	return b->row_count;
}

struct heat {
	uint32_t count, line_base;
};

static int hottest_first(const void *va, const void *vb)
{
	const struct heat *a = va, *b = vb;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->line_base > b->line_base) - (a->line_base < b->line_base);
}

/* Chooses the width of an index into FREQUENT for which nodes and list together are smallest. */
static unsigned int choose_frequent_bits(const struct heat *heats, uint32_t count,
					 unsigned int line_base_bits)
{
	uint64_t sum = 0, covered = 0, best_gain = 0;
	unsigned int best = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += heats[i].count;
	for (unsigned int bits = 1; bits <= FREQUENT_BITS_MAX && bits < line_base_bits; bits++) {
		uint64_t gain, cost = (UINT64_C(32) << bits);

		for (; at < count && at < 1u << bits; at++)
			covered += heats[at].count;
		gain = covered * SAMPLE * (line_base_bits - bits);
		if (gain > cost && gain - cost > best_gain) {
			best_gain = gain - cost;
			best = bits;
		}
	}
	return sum ? best : 0;
}

static int choose_frequent(struct pack *p, struct rsym_disk_shape *shape, struct buf *frequent,
			   struct err *err)
{
	_cleanup_(freep) struct heat *heats =
		calloc((size_t)shape->line_base_count + 1, sizeof(*heats));
	uint32_t count;

	if (!heats)
		return err_no_memory(err);
	for (uint32_t i = 0; i < shape->line_base_count; i++)
		heats[i].line_base = i;
	for (size_t i = 0; i < p->c->row_count; i += (size_t)SAMPLE * p->block.block_rows) {
		fill_block(p, i, p->c->row_count, p->c->starts[i]);
		for (uint32_t j = 0; j < p->block.node_count; j++)
			heats[p->block.nodes[j].line_base].count +=
				p->block.nodes[j].parent != RSYM_BLOCK_NONE;
	}
	qsort(heats, shape->line_base_count, sizeof(*heats), hottest_first);
	shape->frequent_bits =
		(uint8_t)choose_frequent_bits(heats, shape->line_base_count, shape->line_base_bits);
	count = shape->frequent_bits ? 1u << shape->frequent_bits : 0;
	for (uint32_t i = 0; i < count && i < shape->line_base_count; i++) {
		p->frequent_of[heats[i].line_base] = i;
		buf_u32(frequent, heats[i].line_base);
	}
	return 0;
}

/* A block that was packed. */
struct mark {
	uint64_t span;       /* base of its span */
	uint32_t next_start; /* as rsym_index_writer_block() takes it */
	uint32_t len;
};

struct part {
	struct buf blocks, marks;
	uint64_t span; /* base of the span that is current where the part begins */
	uint64_t node_count;
};

/* All parts. Each thread takes the next one when it is idle. */
struct packing {
	struct part *parts;
	size_t part_count;
	atomic_size_t taken;
};

struct packer {
	struct packing *all;
	struct pack p;
};

static void packing_done(struct packing *all)
{
	for (size_t i = 0; all->parts && i < all->part_count; i++) {
		buf_done(&all->parts[i].blocks);
		buf_done(&all->parts[i].marks);
	}
	free(all->parts);
}

/* Finds the spans before packing, from the starts of rows alone: a span ends before the first row
 * that is too far. */
static int plan_parts(struct packing *all, const struct rsym_content *c, struct err *err)
{
	uint64_t span = c->row_count ? c->starts[0] : 0;

	all->part_count = (c->row_count + PART_ROWS - 1) / PART_ROWS;
	all->parts = calloc(all->part_count + 1, sizeof(*all->parts));
	if (!all->parts)
		return err_no_memory(err);
	for (size_t i = 0; i < c->row_count; i++) {
		if (c->starts[i] - span >= SPAN_MAX)
			span = c->starts[i];
		if (i % PART_ROWS == 0)
			all->parts[i / PART_ROWS] = (struct part){
				.blocks = BUF_INIT(LIMIT_TABLE_LEN),
				.marks = BUF_INIT(SIZE_MAX),
				.span = span,
			};
	}
	return 0;
}

static void pack_part(struct pack *p, struct part *part, size_t first, size_t behind)
{
	const struct rsym_content *c = p->c;
	uint64_t span = part->span;

	for (size_t i = first; i < behind;) {
		struct mark mark;
		size_t next, before = part->blocks.len;
		uint64_t end;

		if (c->starts[i] - span >= SPAN_MAX)
			span = c->starts[i];
		next = i + fill_block(p, i, behind, span);
		/* The last block of a span ends one address behind the start of its last row. */
		end = next < c->row_count && c->starts[next] - span < SPAN_MAX
			      ? c->starts[next]
			      : c->starts[next - 1] + 1;
		rsym_block_write(&p->block, (uint32_t)(end - c->starts[i]), &part->blocks);
		mark = (struct mark){.span = span,
				     .next_start = (uint32_t)(end - span),
				     .len = (uint32_t)(part->blocks.len - before)};
		buf_append(&part->marks, &mark, sizeof(mark));
		part->node_count += p->block.node_count;
		i = next;
	}
}

static void pack_parts(void *ctx)
{
	struct packer *packer = ctx;
	struct packing *all = packer->all;
	size_t row_count = packer->p.c->row_count, i;

	while ((i = atomic_fetch_add_explicit(&all->taken, 1, memory_order_relaxed)) <
	       all->part_count) {
		size_t first = i * PART_ROWS;
		size_t behind = row_count - first < PART_ROWS ? row_count : first + PART_ROWS;

		pack_part(&packer->p, &all->parts[i], first, behind);
	}
}

/* Concatenates the parts. */
static bool join_packed(struct packing *all, const struct rsym_pack_out *out,
			struct rsym_disk_shape *shape)
{
	uint64_t span = 0, off = out->blocks->len;
	bool open = false;

	for (size_t i = 0; i < all->part_count; i++) {
		struct part *part = &all->parts[i];

		if (part->blocks.failed || part->marks.failed)
			return false;
		for (size_t at = 0; at < part->marks.len; at += sizeof(struct mark)) {
			struct mark mark;

			memcpy(&mark, part->marks.p + at, sizeof(mark));
			if (!open || mark.span != span)
				rsym_index_writer_span(out->index, mark.span, off);
			open = true;
			span = mark.span;
			off += mark.len;
			rsym_index_writer_block(out->index, mark.next_start, off);
		}
		buf_append(out->blocks, part->blocks.p, part->blocks.len);
		shape->node_count += part->node_count;
		buf_done(&part->blocks);
	}
	return true;
}

static int pack_blocks(struct packer *first, struct helper *helper, const struct rsym_pack_out *out,
		       struct rsym_disk_shape *shape, struct err *err)
{
	_cleanup_(packing_done) struct packing all = {0};
	_cleanup_(freep) struct packer *second = helper ? malloc(sizeof(*second)) : NULL;

	TRY(plan_parts(&all, first->p.c, err));
	if (helper && !second)
		return err_no_memory(err);
	first->all = &all;
	if (second) {
		*second = *first;
		helper_start(helper, pack_parts, second);
	}
	pack_parts(first);
	helper_wait(helper);
	return join_packed(&all, out, shape) ? 0 : err_no_memory(err);
}

int rsym_pack(const struct rsym_content *c, const struct rsym_line_bases *e, bool shallow,
	      struct helper *helper, const struct rsym_pack_out *out, struct rsym_disk_shape *shape,
	      struct err *err)
{
	_cleanup_(freep) struct packer *packer = calloc(1, sizeof(*packer));
	_cleanup_(freep) uint32_t *frequent_of =
		malloc(((size_t)e->count + 1) * sizeof(*frequent_of));
	struct pack *p;

	if (!packer || !frequent_of)
		return err_no_memory(err);
	memset(frequent_of, 0xff,
	       ((size_t)e->count + 1) * sizeof(*frequent_of)); /* RSYM_BLOCK_NONE */
	p = &packer->p;
	p->c = c;
	p->e = e;
	p->frequent_of = frequent_of;
	shape->row_count = c->row_count;
	shape->block_rows = shallow ? RSYM_ROWS_MAX : RSYM_ROWS_MAX / 2;
	p->block.block_rows = shape->block_rows;
	p->block.line_base_bits = shape->line_base_bits;
	TRY(choose_frequent(p, shape, out->frequent, err));
	p->block.frequent_bits = shape->frequent_bits;
	return pack_blocks(packer, helper, out, shape, err);
}
