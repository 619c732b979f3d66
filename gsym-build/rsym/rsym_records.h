/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_RECORDS_H
#define RAWSTACK_RSYM_RECORDS_H
/*
 * Reads line bases and functions of an open table in place. It is inline because a lookup reads one
 * line base for each frame and is compiled once for each kind of processor. rsym_line_bases.c
 * writes them.
 */
#include "rsym.h"
#include "rsym_bits.h"
#include "rsym_format.h"

struct rsym_line_base {
	uint32_t function, file, line; /* line is the lowest line; file may be RSYM_NONE */
};

/* Returns the lowest line of a line base whose record refers to BASES, or 0 if it is not there,
 * which is damage. */
static RSYM_INLINE uint32_t rsym_base_line(const struct rsym *t, uint32_t line_base)
{
	uint32_t low = 0, count = t->base_count;

	while (count) {
		uint32_t half = count / 2;
		const uint8_t *p = t->bases + (size_t)(low + half) * sizeof(struct rsym_disk_base);
		uint32_t at = rsym_load32(p);

		if (at == line_base)
			return rsym_load32(p + 4);
		if (at < line_base) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return 0;
}

static RSYM_INLINE const uint8_t *rsym_line_base_group(const struct rsym *t, uint32_t line_base)
{
	return t->line_bases + (size_t)(line_base / RSYM_GROUP) * t->line_base_stride;
}

/* Prefetches what rsym_line_base_read() will read: the head of the group, and the record. */
static RSYM_INLINE void rsym_line_base_fetch(const struct rsym *t, uint32_t line_base)
{
	const uint8_t *p = rsym_line_base_group(t, line_base);

	__builtin_prefetch(p);
	__builtin_prefetch(p + sizeof(struct rsym_disk_line_bases) +
			   line_base % RSYM_GROUP * (t->file_bits + t->line_bits) / 8);
}

/* Reads a line base, whose number is below t->line_base_count. */
static RSYM_INLINE void rsym_line_base_read(const struct rsym *t, uint32_t line_base,
					    struct rsym_line_base *e)
{
	const uint8_t *p = rsym_line_base_group(t, line_base);
	uint32_t i = line_base % RSYM_GROUP, at = i * (t->file_bits + t->line_bits), line;
	uint64_t through = rsym_load64(p + 4) & (UINT64_MAX >> (RSYM_GROUP - 1 - i)), record;

	e->function = rsym_load32(p) + bits_count(through) - 1;
	p += sizeof(struct rsym_disk_line_bases);
	record = rsym_load64(p + at / 8) >> at % 8;
	e->file = (uint32_t)bits_low(record, t->file_bits);
	line = (uint32_t)bits_low(record >> t->file_bits, t->line_bits);
	e->file = e->file < t->file_count ? e->file : RSYM_NONE;
	e->line = line;
	if (line == (uint32_t)bits_low(UINT64_MAX, t->line_bits))
		e->line = rsym_base_line(t, line_base);
}

#endif
