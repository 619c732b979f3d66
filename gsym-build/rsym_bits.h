/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_BITS_H
#define RAWSTACK_RSYM_BITS_H
/*
 * Numbers of a few bits each, one behind the other: the alphabet of the table format. Bit 0 is the
 * lowest of byte 0. Reads are unaligned loads of 8 bytes without any check, so whoever reads proves
 * the position first, and memory must go on for RSYM_PAD bytes behind the last bit; a table file
 * does. Compiled twice, for plain x86-64 and for processors with BMI2: compilers turn the masks
 * below into single instructions there.
 */
#include <string.h>

#include "buf.h"

/* The parts of a lookup are made into one function: calls would cost as much as the work. */
#define RSYM_INLINE inline __attribute__((always_inline))

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The lowest n bits of v, n < 64. */
static inline uint64_t bits_low(uint64_t v, unsigned int n)
{
	return v & ((UINT64_C(1) << n) - 1);
}

/* n bits from bit position at, n <= 57. */
static inline uint64_t bits_get(const uint8_t *p, uint64_t at, unsigned int n)
{
	return bits_low(load64(p + at / 8) >> at % 8, n);
}

/* 64 bits from bit position at: loads 16 bytes. */
static inline uint64_t bits_word(const uint8_t *p, uint64_t at)
{
	p += at / 8;
	return load64(p) >> at % 8 | load64(p + 8) << 1 << (63 - at % 8);
}

/* Bits needed to write v: 0 for 0, 64 at most. */
static inline unsigned int bits_len(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

static inline unsigned int bits_count(uint64_t v)
{
#ifdef __POPCNT__
	return (unsigned int)__builtin_popcountll(v);
#else
	/* Sums of 2, 4 and 8 neighbours, then all bytes into the highest. */
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned int)(v * UINT64_C(0x0101010101010101) >> 56);
#endif
}

/* Position of the set bit that has k set bits below it; v has more than k. */
static inline unsigned int bits_select(uint64_t v, unsigned int k)
{
#ifdef __BMI2__
	return (unsigned int)__builtin_ctzll(__builtin_ia32_pdep_di(UINT64_C(1) << k, v));
#else
	unsigned int at = 0;

	for (unsigned int half = 32; half >= 8; half /= 2) {
		unsigned int below = bits_count(bits_low(v, half));

		if (below <= k) {
			k -= below;
			v >>= half;
			at += half;
		}
	}
	for (; k; k--)
		v &= v - 1;
	return at + (unsigned int)__builtin_ctzll(v);
#endif
}

/* Set bits among the n at bit position at. */
static inline unsigned int bits_count_range(const uint8_t *p, uint64_t at, unsigned int n)
{
	unsigned int sum = 0;

	for (; n >= 64; n -= 64, at += 64)
		sum += bits_count(bits_word(p, at));
	return n ? sum + bits_count(bits_low(bits_word(p, at), n)) : sum;
}

/* Writes numbers to the end of a buffer, whose failure sticks. */
struct bits_out {
	struct buf *out;
	uint64_t word; /* not yet written, `fill` bits of it */
	unsigned int fill;
};

/* The lowest n bits of v, n <= 64; what is above must be 0. */
static inline void bits_put(struct bits_out *b, uint64_t v, unsigned int n)
{
	if (!n)
		return;
	b->word |= v << b->fill;
	b->fill += n;
	if (b->fill >= 64) {
		buf_u64(b->out, b->word);
		b->fill -= 64;
		b->word = b->fill ? v >> (n - b->fill) : 0;
	}
}

/* Fills the last byte with zeros and writes it. */
static inline void bits_flush(struct bits_out *b)
{
	for (; b->fill; b->fill = b->fill > 8 ? b->fill - 8 : 0, b->word >>= 8)
		buf_u8(b->out, (uint8_t)b->word);
}

#endif
