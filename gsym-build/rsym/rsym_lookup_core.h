/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lookups, compiled once for each kind of processor: rsym_lookup_base.c and rsym_lookup_v3.c
 * include this file and name their functions by RSYM_VARIANT(); rsym_lookup.c chooses between them.
 * No other file may include it.
 */
#include "rsym_block.h"
#include "rsym_index.h"
#include "rsym_lookup.h"
#include "rsym_records.h"

/* The number of addresses that are looked up together: enough that the first has arrived from
 * memory when the last is requested. */
#define GROUP 16

/* The most bytes of a block that are prefetched; the median block has 200 to 300 bytes. */
#define FETCH_MAX 384

static RSYM_INLINE void prefetch_block(const uint8_t *p, uint32_t len)
{
	/* Prefetching a cache line twice costs less than a mispredicted loop exit. */
#pragma GCC unroll 8
	for (uint32_t i = 0; i < FETCH_MAX; i += 64)
		__builtin_prefetch(p + (i < len ? i : len));
}

static RSYM_INLINE bool open_block(const struct rsym *t, const struct rsym_place *place,
				   struct rsym_block *b)
{
	return rsym_block_open(b, t->blocks + place->off, place->len, place->limit, t->block_rows,
			       t->line_base_bits, t->frequent_bits);
}

/* Fills a frame from its line base; `line` is relative to the lowest line of that base. */
static RSYM_INLINE void resolve_line_base(const struct rsym *t, struct rsym_frame *f,
					  uint32_t line_base, uint32_t line)
{
	struct rsym_line_base e;

	rsym_line_base_read(t, line_base, &e);
	f->function = e.function;
	f->file = e.file;
	f->line = line + e.line;
	f->column = 0;
}

/*
 * Stores the nodes from i outward as frames. If the array is full, its last place is kept for the
 * outermost. If `later` is set, line bases are only prefetched, and `function` holds their numbers
 * until resolve_all().
 */
static RSYM_INLINE size_t collect_frames(const struct rsym *t, const struct rsym_block *b,
					 uint32_t i, uint32_t line, struct rsym_frame *frames,
					 size_t cap, bool later)
{
	/* If the list is empty, the 4 bytes at its place are read and not used, which avoids a
	 * branch. */
	uint32_t frequent_last = t->frequent_count - (t->frequent_count > 0);
	struct rsym_node node;
	size_t n = 0;

	for (size_t steps = 0; steps < RSYM_FRAMES_MAX && i < b->node_count; steps++) {
		struct rsym_frame *f;
		uint32_t line_base, is_frequent, at;

		rsym_block_node(b, i, &node);
		is_frequent = -(uint32_t)node.is_frequent;
		at = node.line_base & is_frequent;
		if (at > frequent_last)
			return 0; /* damaged, like every other return of 0 here */
		line_base = node.line_base ^
			    ((node.line_base ^ rsym_load32(t->frequent + 4 * (size_t)at)) &
			     is_frequent);
		if (line_base >= t->line_base_count)
			return 0;
		n -= n == cap;
		f = &frames[n++];
		if (later) {
			rsym_line_base_fetch(t, line_base);
			f->function = line_base;
			f->line = line;
		} else {
			resolve_line_base(t, f, line_base, line);
		}
		if (i < b->root_count)
			return n;
		line = node.call;
		i = node.parent;
	}
	return 0;
}

static RSYM_INLINE void resolve_all(const struct rsym *t, struct rsym_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		resolve_line_base(t, &frames[i], frames[i].function, frames[i].line);
}

/* Stores the frames of address x of a block, without resolving their line bases if
 * `later` is set. */
static RSYM_INLINE size_t look_into(const struct rsym *t, const struct rsym_block *b, uint32_t x,
				    struct rsym_frame *frames, size_t cap, bool later)
{
	uint32_t row = rsym_block_row(b, x), line;
	uint32_t node = rsym_block_index(b, row);

	if (node >= b->node_count)
		return 0;
	if (b->by_delta) {
		struct rsym_lines lines = rsym_lines_from(b, row);

		if (!rsym_lines_to(b, row, &lines))
			return 0;
		line = lines.line;
	} else {
		line = (uint32_t)bits_get(b->p, b->line_at + row * b->line_bits, b->line_bits);
	}
	return collect_frames(t, b, node, line, frames, cap, later);
}

int RSYM_VARIANT(rsym_lookup)(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames,
			      size_t cap)
{
	struct rsym_path path;
	struct rsym_place place;
	struct rsym_block b;

	if (!cap || !rsym_find_leaf(t, vaddr, &path) || !rsym_find_block(t, &path, &place))
		return 0;
	prefetch_block(t->blocks + place.off, place.len);
	if (!open_block(t, &place, &b))
		return 0;
	return (int)look_into(t, &b, place.x, frames, cap, false);
}

/* Does each step for the whole group before the next step, so that the waits for memory overlap. */
static size_t look_up_group(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			    struct rsym_frame *frames, size_t cap, size_t used, uint32_t *ends)
{
	struct rsym_path paths[GROUP];
	struct rsym_place places[GROUP];
	bool found[GROUP];
	size_t from = used, i;

	for (i = 0; i < count; i++) {
		found[i] = rsym_find_leaf(t, vaddrs[i], &paths[i]);
		if (found[i])
			__builtin_prefetch(rsym_leaf(t, paths[i].leaf));
	}
	for (i = 0; i < count; i++) {
		found[i] = found[i] && rsym_find_block(t, &paths[i], &places[i]);
		if (found[i])
			prefetch_block(t->blocks + places[i].off, places[i].len);
	}
	for (i = 0; i < count && cap - used >= RSYM_FRAMES_MAX; i++) {
		struct rsym_block b;

		if (found[i] && open_block(t, &places[i], &b))
			used += look_into(t, &b, places[i].x, frames + used, RSYM_FRAMES_MAX, true);
		ends[i] = (uint32_t)used;
	}
	resolve_all(t, frames + from, used - from);
	return i;
}

/* The place of the previous address: the next one is often near. */
struct cursor {
	uint64_t from, to;   /* addresses of the row; from == to: none yet */
	uint64_t base, stop; /* addresses of the block; stop 0: no block */
	struct rsym_block block;
	struct rsym_lines lines;
};

static bool move_to_block(const struct rsym *t, uint64_t vaddr, struct cursor *c)
{
	struct rsym_path path;
	struct rsym_place place;

	c->stop = 0;
	if (!rsym_find_leaf(t, vaddr, &path) || !rsym_find_block(t, &path, &place) ||
	    !open_block(t, &place, &c->block))
		return false;
	c->base = place.base;
	c->stop = place.base + place.limit;
	if (c->stop < c->base)
		c->stop = UINT64_MAX;
	/* Blocks are in the order of addresses, so the next one is prefetched. */
	prefetch_block(t->blocks + place.off + place.len, FETCH_MAX);
	if (c->block.by_delta)
		c->lines = rsym_lines_from(&c->block, 0);
	return true;
}

static size_t look_up_next(const struct rsym *t, uint64_t vaddr, struct cursor *c,
			   struct rsym_frame *frames)
{
	struct rsym_block *b = &c->block;
	uint32_t row, node, line, x;

	c->from = c->to = 0;
	if (vaddr < c->base || vaddr >= c->stop) {
		if (!move_to_block(t, vaddr, c))
			return 0;
		/* An address behind the last row of a span is in the gap after it. */
		if (vaddr >= c->stop) {
			c->stop = 0;
			return (size_t)RSYM_VARIANT(rsym_lookup)(t, vaddr, frames, RSYM_FRAMES_MAX);
		}
	}
	x = (uint32_t)(vaddr - c->base);
	row = rsym_block_row(b, x);
	c->from = c->base + rsym_block_start(b, row);
	c->to = c->base + rsym_block_start(b, row + 1);
	node = rsym_block_index(b, row);
	if (node >= b->node_count)
		return 0;
	if (b->by_delta) {
		struct rsym_lines anchor = rsym_lines_from(b, row);

		if (c->lines.row > row || c->lines.row < anchor.row)
			c->lines = anchor;
		if (!rsym_lines_to(b, row, &c->lines)) {
			c->lines = anchor;
			return 0;
		}
		line = c->lines.line;
	} else {
		line = (uint32_t)bits_get(b->p, b->line_at + row * b->line_bits, b->line_bits);
	}
	return collect_frames(t, b, node, line, frames, RSYM_FRAMES_MAX, false);
}

static size_t look_up_sorted(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			     struct rsym_frame *frames, size_t cap, uint32_t *ends)
{
	struct cursor c = {0};
	size_t used = 0, last = 0, i;

	for (i = 0; i < count && cap - used >= RSYM_FRAMES_MAX; i++) {
		if (vaddrs[i] >= c.from && vaddrs[i] < c.to)
			memcpy(frames + used, frames + used - last, last * sizeof(*frames));
		else
			last = look_up_next(t, vaddrs[i], &c, frames + used);
		used += last;
		ends[i] = (uint32_t)used;
	}
	return i;
}

size_t RSYM_VARIANT(rsym_lookup_batch)(const struct rsym *t, const uint64_t *vaddrs, size_t count,
				       struct rsym_frame *frames, size_t cap, uint32_t *ends)
{
	size_t done = 0, used = 0, sorted = 1;

	if (cap > UINT32_MAX)
		cap = UINT32_MAX; /* ends[] has 32 bits */
	while (sorted < count && vaddrs[sorted - 1] <= vaddrs[sorted])
		sorted++;
	if (sorted >= count)
		return look_up_sorted(t, vaddrs, count, frames, cap, ends);
	while (done < count && cap - used >= RSYM_FRAMES_MAX) {
		size_t group = count - done < GROUP ? count - done : GROUP;

		done += look_up_group(t, vaddrs + done, group, frames, cap, used, ends + done);
		used = ends[done - 1];
	}
	return done;
}

int RSYM_VARIANT(rsym_range)(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start,
			     uint64_t *ret_end)
{
	struct rsym_path path;
	struct rsym_place place;
	struct rsym_block b;
	uint32_t row, node;

	*ret_start = 0;
	*ret_end = t->span_count ? rsym_load64(t->spans) : UINT64_MAX;
	if (!rsym_find_leaf(t, vaddr, &path) || !rsym_find_block(t, &path, &place) ||
	    !open_block(t, &place, &b))
		return 0;
	row = rsym_block_row(&b, place.x);
	node = rsym_block_index(&b, row);
	*ret_start = place.base + rsym_block_start(&b, row);
	*ret_end = place.base + rsym_block_start(&b, row + 1);
	/* The last row of a span reaches to the next one. */
	if (*ret_start == path.span.base + path.span.last)
		*ret_end = rsym_next_span(t, vaddr);
	return node < b.node_count;
}
