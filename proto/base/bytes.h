/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BYTES_H
#define RAWSTACK_BYTES_H
/*
 * A cursor through untrusted bytes. A read past the end sets `failed`, leaves nothing to read, and
 * gives 0. The failure sticks, so a parser reads a whole record and checks once:
 *
 *	uint32_t count = bytes_u32(&in);
 *	uint64_t base = bytes_u64(&in);
 *	if (in.failed)
 *		return err_set(err, ERR_DATA, ...);
 *
 * Integers are little-endian and need no alignment. Nothing is ever cast onto the input.
 */
#include <string.h>

#include "base.h"

struct bytes {
	const uint8_t *p;
	size_t left;
	bool failed;
};

/* p may be NULL when len is 0. */
static inline struct bytes bytes_of(const void *p, size_t len)
{
	return (struct bytes){.p = p ? p : (const uint8_t *)"", .left = len};
}

static inline bool bytes_fail(struct bytes *b)
{
	b->failed = true;
	b->left = 0;
	return false;
}

/* Returns the next len bytes, borrowed from the input, or NULL. */
static inline const uint8_t *bytes_take(struct bytes *b, size_t len)
{
	const uint8_t *p = b->p;

	if (len > b->left) {
		bytes_fail(b);
		return NULL;
	}
	b->p += len;
	b->left -= len;
	return p;
}

static inline void bytes_skip(struct bytes *b, size_t len)
{
	(void)bytes_take(b, len);
}

#define BYTES_READER(name, type)                                \
	static inline type name(struct bytes *b)                \
	{                                                       \
		const uint8_t *p = bytes_take(b, sizeof(type)); \
		type v = 0;                                     \
		if (p)                                          \
			memcpy(&v, p, sizeof(v));               \
		return v;                                       \
	}

BYTES_READER(bytes_u8, uint8_t)
BYTES_READER(bytes_u16, uint16_t)
BYTES_READER(bytes_u32, uint32_t)
BYTES_READER(bytes_u64, uint64_t)
#undef BYTES_READER

/* Reads an unsigned LEB128 (DWARF 5 section 7.6). More than 64 bits is a failure. */
static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	if (b->left && b->p && *b->p < 0x80) { /* nearly all are short */
		b->left--;
		return *b->p++;
	}
	if (b->left >= 10 && b->p) { /* the longest cannot run past the end */
		const uint8_t *p = b->p;

		do {
			v |= (uint64_t)(*p & 0x7f) << shift;
			shift += 7;
		} while ((*p++ & 0x80) && shift < 63);
		if (!(p[-1] & 0x80)) {
			b->left -= (size_t)(p - b->p);
			b->p = p;
			return v;
		}
		v = shift = 0;
	}
	for (;;) {
		uint8_t byte = bytes_u8(b);

		if (b->failed)
			return 0;
		if (shift > 63 || (shift == 63 && (byte & 0x7e))) {
			bytes_fail(b);
			return 0;
		}
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
		shift += 7;
	}
}

/* Reads one that has to fit 32 bits. */
static inline uint32_t bytes_uleb32(struct bytes *b)
{
	uint64_t v = bytes_uleb(b);

	if (v > UINT32_MAX)
		bytes_fail(b);
	return (uint32_t)v;
}

/* Reads a signed LEB128. More than 64 bits is a failure. */
static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (b->failed || shift > 63) {
			bytes_fail(b);
			return 0;
		}
		v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

/* Returns the next NUL-terminated string, or NULL if no NUL is left; *ret_len excludes the NUL. */
static inline const char *bytes_cstr(struct bytes *b, size_t *ret_len)
{
	const uint8_t *end = b->left && b->p ? memchr(b->p, 0, b->left) : NULL;
	const char *s = (const char *)b->p;

	if (!end) {
		bytes_fail(b);
		return NULL;
	}
	*ret_len = (size_t)(end - b->p);
	bytes_skip(b, *ret_len + 1);
	return s;
}

#endif
