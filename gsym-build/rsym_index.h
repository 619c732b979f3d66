/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_INDEX_H
#define RAWSTACK_RSYM_INDEX_H
/*
 * From an address to its block: the span it is in, down a tree of 16 ways over the starts of
 * leaves, then one leaf, which says where each of its 14 blocks starts, ends and stands. The upper
 * levels are small and stay in the processor's caches; of the rest a lookup reads one line.
 * Inline, for it is compiled once for each kind of processor. Written by rsym_index_writer.c.
 */
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "rsym.h"
#include "rsym_bits.h"
#include "rsym_format.h"

/* Where an address was found. */
struct rsym_place {
	uint64_t base; /* first address of the block */
	uint32_t x; /* the address, above base; may be above `limit`: then it is the last row's */
	uint32_t limit; /* rows of the block start below it, above base */
	uint64_t off;   /* of the block, in BLOCKS */
	uint32_t len;
};

/* An address on its way there. */
struct rsym_path {
	struct rsym_disk_span span;
	uint32_t key; /* above span.base */
	uint32_t leaf;
};

/* How many of 16 are at most key. */
static RSYM_INLINE uint32_t rsym_tree_rank(const uint8_t *group, uint32_t key)
{
#ifdef __AVX2__
	__m256i k = _mm256_set1_epi32((int)key);
	__m256i a = _mm256_loadu_si256((const void *)group);
	__m256i b = _mm256_loadu_si256((const void *)(group + 32));
	__m256i in_a = _mm256_cmpeq_epi32(_mm256_max_epu32(a, k), k);
	__m256i in_b = _mm256_cmpeq_epi32(_mm256_max_epu32(b, k), k);

	/* Pairs to 16 bits: the order is lost, the count is not. */
	return bits_count((uint32_t)_mm256_movemask_epi8(_mm256_packs_epi32(in_a, in_b))) / 2;
#else
	uint32_t count = 0;

	for (size_t i = 0; i < RSYM_TREE_WAYS; i++)
		count += load32(group + 4 * i) <= key;
	return count;
#endif
}

/* How many of the first 13 starts of a leaf are at most key, that is: in which block it is. */
static RSYM_INLINE uint32_t rsym_leaf_rank(const uint8_t *starts, uint32_t key)
{
#ifdef __AVX2__
	__m256i k = _mm256_set1_epi16((short)key);
	__m256i a = _mm256_loadu_si256((const void *)starts); /* and two of `ends` */
	__m256i in = _mm256_cmpeq_epi16(_mm256_max_epu16(a, k), k);

	return bits_count((uint32_t)bits_low((uint32_t)_mm256_movemask_epi8(in),
					     2 * (RSYM_LEAF_BLOCKS - 1))) /
	       2;
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
	memcpy(s, t->spans + (size_t)i * sizeof(*s), sizeof(*s));
}

/* Levels of the tree above a number of leaves; at least one. */
static RSYM_INLINE unsigned int rsym_tree_levels(uint32_t leaf_count)
{
	return leaf_count > 1 ? (bits_len(leaf_count - 1) + 3) / 4 : 1;
}

/* Groups in a level; level 0 holds the starts of all leaves. */
static RSYM_INLINE uint32_t rsym_tree_groups(uint32_t leaf_count, unsigned int level)
{
	unsigned int shift = 4 * (level + 1);

	return (uint32_t)(((uint64_t)leaf_count + (UINT64_C(1) << shift) - 1) >> shift);
}

/* The leaf of vaddr; false when it lies before every row. */
static RSYM_INLINE bool rsym_find_leaf(const struct rsym *t, uint64_t vaddr, struct rsym_path *path)
{
	uint32_t low = 0, count = t->span_count, group, at = 0;
	uint64_t delta;

	if (!count)
		return false;
	while (count > 1) { /* the last span that starts at or below vaddr, if any does */
		uint32_t half = count / 2;

		if (load64(t->spans + (size_t)(low + half) * sizeof(path->span)) <= vaddr)
			low += half;
		count -= half;
	}
	rsym_span_read(t, low, &path->span);
	if (vaddr < path->span.base)
		return false;
	delta = vaddr - path->span.base;
	path->key = delta < path->span.last ? (uint32_t)delta : path->span.last;
	group = path->span.tree_first;
	for (unsigned int level = rsym_tree_levels(path->span.leaf_count); level--;) {
		uint32_t rank = rsym_tree_rank(t->tree + ((size_t)group + at) * 64, path->key);
		uint32_t below = level ? rsym_tree_groups(path->span.leaf_count, level - 1)
				       : path->span.leaf_count;

		group += rsym_tree_groups(path->span.leaf_count, level);
		at = at * RSYM_TREE_WAYS + (rank ? rank - 1 : 0);
		if (at >= below)
			at = below - 1; /* only damage leads here */
	}
	path->leaf = path->span.leaf_first + at;
	return true;
}

static RSYM_INLINE const uint8_t *rsym_leaf(const struct rsym *t, uint32_t leaf)
{
	return t->leaves + (size_t)leaf * sizeof(struct rsym_disk_leaf);
}

/* Where block i of a leaf begins and ends, as rsym_disk_leaf says it. */
static RSYM_INLINE uint32_t rsym_leaf_u16(const uint8_t *leaf, size_t array, uint32_t i)
{
	uint16_t v;

	memcpy(&v, leaf + array + 2 * (size_t)i, sizeof(v));
	return v;
}

#define RSYM_LEAF_START(leaf, i) rsym_leaf_u16(leaf, offsetof(struct rsym_disk_leaf, starts), i)
#define RSYM_LEAF_END(leaf, i)   rsym_leaf_u16(leaf, offsetof(struct rsym_disk_leaf, ends), i)

/* Block i of the leaf of a path; false when there is no such block. */
static RSYM_INLINE bool rsym_leaf_block(const struct rsym *t, const struct rsym_path *path,
					uint32_t i, struct rsym_place *place)
{
	const uint8_t *leaf = rsym_leaf(t, path->leaf);
	uint32_t leaf_start = load32(leaf), start = i ? RSYM_LEAF_START(leaf, i - 1) : 0;
	uint32_t off = i ? RSYM_LEAF_END(leaf, i - 1) : 0, end = RSYM_LEAF_END(leaf, i);
	uint32_t stop = RSYM_LEAF_START(leaf, i);

	place->base = path->span.base + leaf_start + start;
	place->x = path->key - leaf_start - start;
	place->off = (uint64_t)load32(leaf + 4) + off;
	place->len = end - off;
	if (stop != RSYM_LEAF_FAR)
		place->limit = stop - start;
	else if (path->leaf + 1 < path->span.leaf_first + path->span.leaf_count)
		place->limit = load32(rsym_leaf(t, path->leaf + 1)) - leaf_start - start;
	else
		place->limit = path->span.last - leaf_start - start + 1;
	return end >= off && place->x < place->limit && place->off <= t->blocks_len &&
	       place->len <= t->blocks_len - place->off;
}

/* The block of a leaf that holds the path's key. */
static RSYM_INLINE bool rsym_find_block(const struct rsym *t, const struct rsym_path *path,
					struct rsym_place *place)
{
	const uint8_t *leaf = rsym_leaf(t, path->leaf);
	uint32_t delta = path->key - load32(leaf);

	/* Starts are below RSYM_LEAF_FAR, which marks places that are not used. */
	if (delta >= RSYM_LEAF_FAR)
		delta = RSYM_LEAF_FAR - 1;
	return rsym_leaf_block(
		t, path, rsym_leaf_rank(leaf + offsetof(struct rsym_disk_leaf, starts), delta),
		place);
}

#endif
