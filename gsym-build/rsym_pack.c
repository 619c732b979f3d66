/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_pack.h"

#include <stdlib.h>

#include "rsym_bits.h"
#include "rsym_block_writer.h"
#include "rsym_format.h"

enum {
	SLOTS = 4096, /* above four times RSYM_NODES_MAX; a power of two */
	HOT_BITS_MAX = 10,
	SAMPLE = 4, /* one block in so many is looked at to find hot entities */
};

/* Rows of a span are less than 4 GiB from its base, with room for the limit of its last block. */
#define SPAN_MAX (UINT32_MAX - 1)

struct slot {
	uint32_t node, entity; /* the key: a node's parent follows from it, its entity not */
	uint32_t stamp;        /* of the block it belongs to */
	uint32_t local;
};

struct pack {
	const struct rsym_content *c;
	const struct rsym_entities *e;
	uint32_t *hot_of; /* by entity: its place in HOT, or RSYM_BLOCK_NONE */
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

static struct slot *slot_of(struct pack *p, uint32_t node, uint32_t entity)
{
	uint32_t i = (node * 0x9e3779b1u ^ entity * 0x85ebca6bu) >> 7;

	for (;; i++) {
		struct slot *s = &p->slots[i % SLOTS];

		if (s->stamp != p->stamp || (s->node == node && s->entity == entity))
			return s;
	}
}

/*
 * The place in the block of a node as seen through an entity, added with all its ancestors when it
 * is new; RSYM_BLOCK_NONE when they do not fit.
 */
static uint32_t local_of(struct pack *p, uint32_t node, uint32_t entity)
{
	struct rsym_block_writer *b = &p->block;
	struct {
		uint32_t node, entity, call;
	} path[LIMIT_INLINE_DEPTH + 1];
	uint32_t depth = 0, local = RSYM_BLOCK_NONE;

	while (node != RSYM_NONE) {
		const struct rsym_content_node *n = &p->c->nodes[node];
		const struct slot *s = slot_of(p, node, entity);

		if (s->stamp == p->stamp) {
			local = s->local;
			break;
		}
		path[depth].node = node;
		path[depth].entity = entity;
		path[depth].call = 0;
		if (n->parent != RSYM_NONE)
			entity = rsym_entities_find(p->e, p->c->nodes[n->parent].function,
						    n->call_file, n->call_line, RSYM_NONE,
						    &path[depth].call);
		node = n->parent;
		depth++;
	}
	if (b->node_count + depth > RSYM_NODES_MAX)
		return RSYM_BLOCK_NONE;
	while (depth--) {
		struct slot *s = slot_of(p, path[depth].node, path[depth].entity);

		*s = (struct slot){.node = path[depth].node,
				   .entity = path[depth].entity,
				   .stamp = p->stamp,
				   .local = b->node_count};
		b->nodes[b->node_count] = (struct rsym_block_node){
			.parent = local,
			.call = path[depth].call,
			.entity = path[depth].entity,
			.hot = p->hot_of[path[depth].entity],
		};
		local = b->node_count++;
	}
	return local;
}

/* Fills the block with rows from `first` on; returns how many, at least one. */
static uint32_t fill(struct pack *p, size_t first, uint64_t span_base)
{
	struct rsym_block_writer *b = &p->block;
	const struct rsym_content *c = p->c;
	uint32_t node = RSYM_NONE, entity = RSYM_NONE,
		 local = RSYM_BLOCK_NONE; /* of the row before */

	b->row_count = 0;
	b->node_count = 0;
	p->stamp++;
	for (size_t i = first; i < c->row_count && b->row_count < b->block_rows; i++) {
		const struct rsym_content_row *r = &c->rows[i];
		struct rsym_block_row row = {.start = (uint32_t)(c->starts[i] - c->starts[first]),
					     .node = RSYM_BLOCK_NONE};

		if (c->starts[i] - span_base >= SPAN_MAX)
			break;
		if (r->node != RSYM_NONE) {
			uint32_t before = entity;

			entity = rsym_entities_find(p->e, c->nodes[r->node].function, r->file,
						    r->line, before, &row.line);
			if (r->node != node || entity != before)
				local = local_of(p, r->node, entity);
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
	uint32_t count, entity;
};

static int hottest_first(const void *va, const void *vb)
{
	const struct heat *a = va, *b = vb;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->entity > b->entity) - (a->entity < b->entity);
}

/* How many bits an index into HOT gets so that nodes and list are smallest together. */
static unsigned int choose_hot_bits(const struct heat *heats, uint32_t count,
				    unsigned int entity_bits)
{
	uint64_t sum = 0, covered = 0, best_gain = 0;
	unsigned int best = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += heats[i].count;
	for (unsigned int bits = 1; bits <= HOT_BITS_MAX && bits < entity_bits; bits++) {
		uint64_t gain, cost = (UINT64_C(32) << bits);

		for (; at < count && at < 1u << bits; at++)
			covered += heats[at].count;
		gain = covered * SAMPLE * (entity_bits - bits);
		if (gain > cost && gain - cost > best_gain) {
			best_gain = gain - cost;
			best = bits;
		}
	}
	return sum ? best : 0;
}

static int choose_hot(struct pack *p, struct rsym_disk_shape *shape, struct buf *hot,
		      struct err *err)
{
	_cleanup_(freep) struct heat *heats =
		calloc((size_t)shape->entity_count + 1, sizeof(*heats));
	uint32_t count;

	if (!heats)
		return err_set(err, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < shape->entity_count; i++)
		heats[i].entity = i;
	for (size_t i = 0; i < p->c->row_count; i += (size_t)SAMPLE * p->block.block_rows) {
		fill(p, i, p->c->starts[i]);
		for (uint32_t j = 0; j < p->block.node_count; j++)
			heats[p->block.nodes[j].entity].count +=
				p->block.nodes[j].parent != RSYM_BLOCK_NONE;
	}
	qsort(heats, shape->entity_count, sizeof(*heats), hottest_first);
	shape->hot_bits = (uint8_t)choose_hot_bits(heats, shape->entity_count, shape->entity_bits);
	count = shape->hot_bits ? 1u << shape->hot_bits : 0;
	for (uint32_t i = 0; i < count && i < shape->entity_count; i++) {
		p->hot_of[heats[i].entity] = i;
		buf_u32(hot, heats[i].entity);
	}
	return 0;
}

static void pack_blocks(struct pack *p, const struct rsym_pack_out *out,
			struct rsym_disk_shape *shape)
{
	const struct rsym_content *c = p->c;
	uint64_t base = 0;

	for (size_t i = 0; i < c->row_count;) {
		uint32_t count, limit;
		size_t next;
		uint64_t end;

		if (i == 0 || c->starts[i] - base >= SPAN_MAX) {
			base = c->starts[i];
			rsym_index_writer_span(out->index, base, out->blocks->len);
		}
		count = fill(p, i, base);
		next = i + count;
		/* The last block of a span ends behind its last row's start. */
		end = next < c->row_count && c->starts[next] - base < SPAN_MAX
			      ? c->starts[next]
			      : c->starts[next - 1] + 1;
		limit = (uint32_t)(end - c->starts[i]);
		rsym_block_write(&p->block, limit, out->blocks);
		rsym_index_writer_block(out->index, (uint32_t)(end - base), out->blocks->len);
		shape->node_count += p->block.node_count;
		i = next;
	}
}

int rsym_pack(const struct rsym_content *c, const struct rsym_entities *e,
	      const struct rsym_pack_out *out, struct rsym_disk_shape *shape, struct err *err)
{
	_cleanup_(freep) struct pack *p = calloc(1, sizeof(*p));
	_cleanup_(freep) uint32_t *hot_of = malloc(((size_t)e->count + 1) * sizeof(*hot_of));
	int rc;

	if (!p || !hot_of)
		return err_set(err, ERR_MEMORY, "out of memory");
	memset(hot_of, 0xff, ((size_t)e->count + 1) * sizeof(*hot_of)); /* RSYM_BLOCK_NONE */
	p->c = c;
	p->e = e;
	p->hot_of = hot_of;
	shape->row_count = c->row_count;
	shape->block_rows = rsym_pack_is_shallow(c) ? RSYM_ROWS_MAX : RSYM_ROWS_MAX / 2;
	p->block.block_rows = shape->block_rows;
	p->block.entity_bits = shape->entity_bits;
	rc = choose_hot(p, shape, out->hot, err);
	if (rc)
		return rc;
	p->block.hot_bits = shape->hot_bits;
	pack_blocks(p, out, shape);
	return 0;
}
