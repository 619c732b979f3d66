/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_BITS_H
#define RAWSTACK_RSYM_BITS_H
/*
 * Packed numbers of a few bits each, the basic encoding of the table format. Bit 0 is the lowest of
 * byte 0. Reads are unchecked, unaligned loads of 8 bytes: the caller checks the position first,
 * and RSYM_PAD readable bytes must follow the last bit, as in a table file. It is compiled twice,
 * for plain x86-64 and with BMI2, where the compiler makes single instructions of the masks.
 */
#include <string.h>

#include "buf.h"

/* Forces the parts of a lookup into one function: calls would cost as much as the work. */
#define RSYM_INLINE inline __attribute__((always_inline))

static inline uint32_t rsym_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t rsym_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Returns the lowest n bits of v, n < 64. */
static inline uint64_t bits_low(uint64_t v, unsigned int n)
{
	return v & ((UINT64_C(1) << n) - 1);
}

/* Returns n bits from bit position at, n <= 57. */
static inline uint64_t bits_get(const uint8_t *p, uint64_t at, unsigned int n)
{
	return bits_low(rsym_load64(p + at / 8) >> at % 8, n);
}

/* Returns 64 bits from bit position at; it loads 16 bytes. */
static inline uint64_t bits_word(const uint8_t *p, uint64_t at)
{
	p += at / 8;
	return rsym_load64(p) >> at % 8 | rsym_load64(p + 8) << 1 << (63 - at % 8);
}

/* Returns the number of bits that v needs: 0 for 0, 64 at most. */
static inline unsigned int bits_len(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

/* Returns the same for 32 bits, without a branch for 0. */
static inline uint32_t bits_len32(uint32_t v)
{
	return 63 - (uint32_t)__builtin_clzll(2 * (uint64_t)v + 1);
}

/* A word and its counts of set bits, which counting and selecting share. */
struct bits_tally {
	uint64_t word;
	uint64_t sums; /* byte i counts the set bits in bytes 0 to i; with BMI2: their total */
};

static RSYM_INLINE struct bits_tally bits_tally(uint64_t v)
{
	struct bits_tally t = {.word = v};

#ifdef __BMI2__
	t.sums = (uint64_t)__builtin_popcountll(v);
#else
	/* Add up 2, 4 and 8 neighbouring bits; the multiplication then adds all lower bytes to each
	 * byte. */
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	t.sums = v * UINT64_C(0x0101010101010101);
#endif
	return t;
}

static RSYM_INLINE unsigned int bits_tally_count(const struct bits_tally *t)
{
#ifdef __BMI2__
	return (unsigned int)t->sums;
#else
	return (unsigned int)(t->sums >> 56);
#endif
}

#ifndef __BMI2__
/* bits_places[b][k] is the position of set bit number k of byte b, counted from 0; 8 if there is
 * none. */
#define BITS_BELOW(b, k, at) (__builtin_popcount((b) & ((2 << (at)) - 1)) <= (k))
#define BITS_PLACE(b, k)                                                                         \
	(BITS_BELOW(b, k, 0) + BITS_BELOW(b, k, 1) + BITS_BELOW(b, k, 2) + BITS_BELOW(b, k, 3) + \
	 BITS_BELOW(b, k, 4) + BITS_BELOW(b, k, 5) + BITS_BELOW(b, k, 6) + BITS_BELOW(b, k, 7))
#define BITS_PLACES(b)                                                                         \
	{                                                                                      \
		BITS_PLACE(b, 0), BITS_PLACE(b, 1), BITS_PLACE(b, 2), BITS_PLACE(b, 3),        \
			BITS_PLACE(b, 4), BITS_PLACE(b, 5), BITS_PLACE(b, 6), BITS_PLACE(b, 7) \
	}
#define BITS_PLACES_4(b) \
	BITS_PLACES(b), BITS_PLACES((b) + 1), BITS_PLACES((b) + 2), BITS_PLACES((b) + 3)
#define BITS_PLACES_16(b) \
	BITS_PLACES_4(b), BITS_PLACES_4((b) + 4), BITS_PLACES_4((b) + 8), BITS_PLACES_4((b) + 12)
#define BITS_PLACES_64(b)                                                      \
	BITS_PLACES_16(b), BITS_PLACES_16((b) + 16), BITS_PLACES_16((b) + 32), \
		BITS_PLACES_16((b) + 48)
static const uint8_t bits_places[256][8] = {BITS_PLACES_64(0), BITS_PLACES_64(64),
					    BITS_PLACES_64(128), BITS_PLACES_64(192)};
#endif

/* Returns the position of the set bit that has k < 64 set bits below it, or some number below 512
 * if there is no such bit. */
static RSYM_INLINE unsigned int bits_tally_select(const struct bits_tally *t, unsigned int k)
{
#ifdef __BMI2__
	return (unsigned int)__builtin_ia32_tzcnt_u64(
		__builtin_ia32_pdep_di(UINT64_C(1) << k, t->word));
#else
	/* This avoids a branch, which would be unpredictable. The byte of the bit is the first
	 * whose sum (64 at most) is above k, so the sums of k or less are counted. */
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
	uint64_t below = (((k * ones | highs) - t->sums) & highs) / 128;
	unsigned int at = (unsigned int)(below * ones >> 56) % 8 * 8;

	k -= (unsigned int)(t->sums << 8 >> at) & 255;
	return at + bits_places[t->word >> at & 255][k % 8];
#endif
}

static RSYM_INLINE unsigned int bits_count(uint64_t v)
{
	struct bits_tally t = bits_tally(v);

	return bits_tally_count(&t);
}

/* Counts the set bits among the n bits from position at. */
static inline unsigned int bits_count_range(const uint8_t *p, uint64_t at, unsigned int n)
{
	unsigned int sum = 0;

	for (; n >= 64; n -= 64, at += 64)
		sum += bits_count(bits_word(p, at));
	return n ? sum + bits_count(bits_low(bits_word(p, at), n)) : sum;
}

/*
 * Counts how many of n rising numbers of l bits each at position at are at most `most`, which has l
 * bits too; 1 <= l <= 31 and n * l <= 57. All are compared at once: for each number, the highest
 * bit of (most | highest) - (number without highest) is the result of comparing the lower bits.
 */
#define BITS_FIELDS(l) (57 / (l))
#define BITS_ONES(l)   (((UINT64_C(1) << BITS_FIELDS(l) * (l)) - 1) / ((UINT64_C(1) << (l)) - 1))
static RSYM_INLINE unsigned int bits_rank(const uint8_t *p, uint64_t at, unsigned int l,
					  unsigned int n, uint32_t most)
{
	/* ones[l] has a one in the lowest bit of each of the numbers of l bits that fit. */
	static const uint64_t ones[32] = {
		0,
		BITS_ONES(1),
		BITS_ONES(2),
		BITS_ONES(3),
		BITS_ONES(4),
		BITS_ONES(5),
		BITS_ONES(6),
		BITS_ONES(7),
		BITS_ONES(8),
		BITS_ONES(9),
		BITS_ONES(10),
		BITS_ONES(11),
		BITS_ONES(12),
		BITS_ONES(13),
		BITS_ONES(14),
		BITS_ONES(15),
		BITS_ONES(16),
		BITS_ONES(17),
		BITS_ONES(18),
		BITS_ONES(19),
		BITS_ONES(20),
		BITS_ONES(21),
		BITS_ONES(22),
		BITS_ONES(23),
		BITS_ONES(24),
		BITS_ONES(25),
		BITS_ONES(26),
		BITS_ONES(27),
		BITS_ONES(28),
		BITS_ONES(29),
		BITS_ONES(30),
		BITS_ONES(31),
	};
	uint64_t x = rsym_load64(p + at / 8) >> at % 8, y = ones[l] * most,
		 high = ones[l] << (l - 1);
	uint64_t lower = (y | high) - (x & ~high);

	return bits_count(bits_low(((y & ~x) | (~(y ^ x) & lower)) & high, n * l));
}

/* Appends numbers to a buffer, whose `failed` is sticky. */
struct bits_out {
	struct buf *out;
	uint64_t word; /* the lowest `fill` bits are not yet written */
	unsigned int fill;
};

/* Writes the lowest n bits of v, n <= 64; the bits above must be 0. */
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
