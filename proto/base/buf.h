/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUF_H
#define RAWSTACK_BUF_H
/*
 * A growable byte buffer with a fixed ceiling. A failure sticks: an append that does not fit
 * (ceiling or memory) sets `failed`, and later appends do nothing. So a writer appends a whole
 * record and checks once. For one thread at a time.
 */
#include <stdarg.h>
#include <string.h>

#include "base.h"

struct buf {
	uint8_t *p;
	size_t len;
	size_t cap;
	size_t max; /* ceiling of len, in bytes */
	bool failed;
	bool no_memory; /* failed because memory was out, not by the ceiling */
};

#define BUF_INIT(max_len)        \
	{                        \
		.max = (max_len) \
	}

void buf_init(struct buf *b, size_t max_len);

/* Frees the memory; the buffer is empty and usable again afterwards. */
void buf_done(struct buf *b);

/* Empties it, keeps the memory, clears `failed`. */
void buf_reset(struct buf *b);

/* Appends len bytes of undefined content and returns their place, or NULL on failure. Valid until
 * the next append. */
uint8_t *buf_extend(struct buf *b, size_t len);

/* All appends return false on failure, which also sticks in b->failed. */
bool buf_append(struct buf *b, const void *p, size_t len);
bool buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
bool buf_vprintf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);

/* Append v as printf() does for %llu and for %0*llx (a width of at most 16), ten times faster. */
bool buf_decimal(struct buf *b, uint64_t v);
bool buf_hex(struct buf *b, uint64_t v, unsigned int width);

/* Appends zero bytes up to the next multiple of align, a power of two. */
bool buf_align(struct buf *b, size_t align);

/* Makes p[len] a NUL that is not counted in len, and returns p as text; "" on failure. */
const char *buf_cstr(struct buf *b);

static inline bool buf_str(struct buf *b, const char *s)
{
	return buf_append(b, s, strlen(s));
}

static inline bool buf_u8(struct buf *b, uint8_t v)
{
	return buf_append(b, &v, sizeof(v));
}

/* Append an integer in little-endian order. */
static inline bool buf_u16(struct buf *b, uint16_t v)
{
	return buf_append(b, &v, sizeof(v));
}

static inline bool buf_u32(struct buf *b, uint32_t v)
{
	return buf_append(b, &v, sizeof(v));
}

static inline bool buf_u64(struct buf *b, uint64_t v)
{
	return buf_append(b, &v, sizeof(v));
}

/* Append an integer as LEB128, unsigned and signed (DWARF 5 section 7.6). */
bool buf_uleb(struct buf *b, uint64_t v);
bool buf_sleb(struct buf *b, int64_t v);

#endif
