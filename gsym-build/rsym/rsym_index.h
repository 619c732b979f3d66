/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_INDEX_H
#define RAWSTACK_RSYM_INDEX_H
/*
 * Finds the block of an address. The steps are: its span; the part of the span, which has the
 * number of its first leaf; the starts of eight leaves from there, compared at once; and one leaf,
 * which has the addresses and offsets of its 14 blocks. The cost does not depend on the size of the
 * table, unless many leaves share a part. It is inline because it is compiled once for each kind of
 * processor. rsym_index_writer.c writes the index.
 */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "rsym.h"
#include "rsym_bits.h"
#include "rsym_format.h"

/* The block that holds an address. */
struct rsym_place {
	uint64_t base;  /* first address of the block */
	uint32_t x;     /* address - base; behind the last row of a span, that row's start - base */
	uint32_t limit; /* relative to base: rows of the block start below it */
	uint64_t off;   /* of the block, in BLOCKS */
	uint32_t len;
};

/* The state of a search for an address. */
struct rsym_path {
	struct rsym_disk_span span;
	uint32_t key; /* address - span.base, at most span.last */
	uint32_t leaf;
};

/* Counts how many of 8 rising numbers are at most key. */
static RSYM_INLINE uint32_t rsym_leaf_index_rank(const uint8_t *starts, uint32_t key)
{
#ifdef __SSE2__
	/* SSE2, which every x86-64 processor has, compares four signed numbers at once; `flip`
	 * makes them signed. The position of the first number above key is the result. */
	__m128i flip = _mm_set1_epi32(INT32_MIN);
	__m128i k = _mm_xor_si128(_mm_set1_epi32((int)key), flip);
	__m128i a = _mm_xor_si128(_mm_loadu_si128((const void *)starts), flip);
	__m128i b = _mm_xor_si128(_mm_loadu_si128((const void *)(starts + 16)), flip);
	__m128i above = _mm_packs_epi32(_mm_cmpgt_epi32(a, k), _mm_cmpgt_epi32(b, k));

	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(above) | 1u << 16) / 2;
#else
	uint32_t count = 0;

	for (size_t i = 0; i < RSYM_LEAF_STARTS_AT_ONCE; i++)
		count += rsym_load32(starts + 4 * i) <= key;
	return count;
#endif
}

/* Counts how many of the first 13 starts of a leaf are at most key. This is the index of
 * the block. */
static RSYM_INLINE uint32_t rsym_leaf_rank(const uint8_t *starts, uint32_t key)
{
#ifdef __SSE2__
	/* A saturating subtraction of key gives 0 for a start that is at most key. */
	__m128i k = _mm_set1_epi16((short)key);
	__m128i a = _mm_subs_epu16(_mm_loadu_si128((const void *)starts), k);
	__m128i b = _mm_subs_epu16(_mm_loadu_si128((const void *)(starts + 16)), k);
	__m128i in = _mm_packs_epi16(_mm_cmpeq_epi16(a, _mm_setzero_si128()),
				     _mm_cmpeq_epi16(b, _mm_setzero_si128()));

	return (uint32_t)__builtin_ctz(~(uint32_t)_mm_movemask_epi8(in) |
				       1u << (RSYM_LEAF_BLOCKS - 1));
#else
	uint32_t count = 0;

	for (size_t i = 0; i < RSYM_LEAF_BLOCKS - 1; i++) {
		uint16_t start;

		memcpy(&start, starts + 2 * i, sizeof(start));
		count += start <= key;
	}
	return count;
#endif
}

static RSYM_INLINE void rsym_span_read(const struct rsym *t, uint32_t i, struct rsym_disk_span *s)
{
	const uint8_t *p = t->spans + (size_t)i * sizeof(*s);

	s->base = rsym_load64(p);
	s->last = rsym_load32(p + offsetof(struct rsym_disk_span, last));
	s->leaf_first = rsym_load32(p + offsetof(struct rsym_disk_span, leaf_first));
	s->leaf_count = rsym_load32(p + offsetof(struct rsym_disk_span, leaf_count));
	s->leaf_index_first = rsym_load32(p + offsetof(struct rsym_disk_span, leaf_index_first));
}

/* Returns the number of starts in the leaf index of a span: one for each leaf, then as many of the
 * maximum as are compared at once. */
static RSYM_INLINE uint32_t rsym_leaf_index_starts(uint32_t leaf_count)
{
	return leaf_count + RSYM_LEAF_STARTS_AT_ONCE;
}

/* Returns the shift of the parts of a span: behind the starts stands the first leaf of each part of
 * 2^shift addresses. There are two to four times as many parts as leaves. */
static RSYM_INLINE uint32_t rsym_leaf_index_shift(const struct rsym_disk_span *s)
{
	uint32_t last_len = bits_len32(s->last), parts_len = bits_len32(s->leaf_count) + 1;

	return last_len > parts_len ? last_len - parts_len : 0;
}

static RSYM_INLINE uint32_t rsym_leaf_index_parts(const struct rsym_disk_span *s)
{
	return (s->last >> rsym_leaf_index_shift(s)) + 1;
}

static RSYM_INLINE const uint8_t *rsym_leaf(const struct rsym *t, uint32_t leaf)
{
	return t->leaves + (size_t)leaf * sizeof(struct rsym_disk_leaf);
}

/* Finds the leaf of vaddr. Returns false if vaddr is before every row, or the index is damaged. */
static RSYM_INLINE bool rsym_find_leaf(const struct rsym *t, uint64_t vaddr, struct rsym_path *path)
{
	uint32_t low = 0, count = t->span_count, at, rank, part;
	const uint8_t *leaf_index;
	uint64_t delta;

	if (!count)
		return false;
	while (count > 1) { /* find the last span that starts at or below vaddr, if any does */
		uint32_t half = count / 2;

		if (rsym_load64(t->spans + (size_t)(low + half) * sizeof(path->span)) <= vaddr)
			low += half;
		count -= half;
	}
	rsym_span_read(t, low, &path->span);
	if (vaddr < path->span.base)
		return false;
	delta = vaddr - path->span.base;
	path->key = delta < path->span.last ? (uint32_t)delta : path->span.last;
	leaf_index = t->leaf_index + 4 * (size_t)path->span.leaf_index_first;
	part = path->key >> rsym_leaf_index_shift(&path->span);
	at = rsym_load32(leaf_index +
			 4 * ((size_t)rsym_leaf_index_starts(path->span.leaf_count) + part));
	if (at >= path->span.leaf_count)
		return false; /* damaged, as below */
	/* The leaf is nearly always this one or the next, so both are prefetched. */
	__builtin_prefetch(rsym_leaf(t, path->span.leaf_first + at));
	__builtin_prefetch(rsym_leaf(t, path->span.leaf_first + at) +
			   sizeof(struct rsym_disk_leaf));
	rank = rsym_leaf_index_rank(leaf_index + 4 * ((size_t)at + 1), path->key);
	at += rank;
	if (at >= path->span.leaf_count)
		return false;
	/* If all eight starts are at most key, a binary search goes through the other leaves. */
	for (count = rank == RSYM_LEAF_STARTS_AT_ONCE ? path->span.leaf_count - at : 1;
	     count > 1;) {
		uint32_t half = count / 2;

		if (rsym_load32(leaf_index + 4 * ((size_t)at + half)) <= path->key)
			at += half;
		count -= half;
	}
	path->leaf = path->span.leaf_first + at;
	return true;
}

/* Reads element i of `starts` or `ends` of a leaf. */
static RSYM_INLINE uint32_t rsym_leaf_u16(const uint8_t *leaf, size_t array, uint32_t i)
{
	uint16_t v;

	memcpy(&v, leaf + array + 2 * (size_t)i, sizeof(v));
	return v;
}

#define RSYM_LEAF_START(leaf, i) rsym_leaf_u16(leaf, offsetof(struct rsym_disk_leaf, starts), i)
#define RSYM_LEAF_END(leaf, i)   rsym_leaf_u16(leaf, offsetof(struct rsym_disk_leaf, ends), i)

/* Finds block i of the leaf of a path. Returns false if there is no such block or the path's key is
 * not in it. */
static RSYM_INLINE bool rsym_leaf_block(const struct rsym *t, const struct rsym_path *path,
					uint32_t i, struct rsym_place *place)
{
	const uint8_t *leaf = rsym_leaf(t, path->leaf);
	uint32_t leaf_start = rsym_load32(leaf), start = i ? RSYM_LEAF_START(leaf, i - 1) : 0;
	uint32_t off = i ? RSYM_LEAF_END(leaf, i - 1) : 0, end = RSYM_LEAF_END(leaf, i);
	uint32_t stop = RSYM_LEAF_START(leaf, i);

	place->base = path->span.base + leaf_start + start;
	place->x = path->key - leaf_start - start;
	place->off = (uint64_t)rsym_load32(leaf + 4) + off;
	place->len = end - off;
	if (stop != RSYM_LEAF_FAR)
		place->limit = stop - start;
	else if (path->leaf + 1 < path->span.leaf_first + path->span.leaf_count)
		place->limit = rsym_load32(rsym_leaf(t, path->leaf + 1)) - leaf_start - start;
	else
		place->limit = path->span.last - leaf_start - start + 1;
	return end >= off && place->x < place->limit && place->off <= t->blocks_len &&
	       place->len <= t->blocks_len - place->off;
}

/* Finds the block of a leaf that holds the path's key. Returns false if there is none. */
static RSYM_INLINE bool rsym_find_block(const struct rsym *t, const struct rsym_path *path,
					struct rsym_place *place)
{
	const uint8_t *leaf = rsym_leaf(t, path->leaf);
	uint32_t delta = path->key - rsym_load32(leaf);

	/* Starts are below RSYM_LEAF_FAR, which marks unused places. */
	if (delta >= RSYM_LEAF_FAR)
		delta = RSYM_LEAF_FAR - 1;
	return rsym_leaf_block(
		t, path, rsym_leaf_rank(leaf + offsetof(struct rsym_disk_leaf, starts), delta),
		place);
}

#endif
