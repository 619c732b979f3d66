/* SPDX-License-Identifier: Apache-2.0 */
#include "buf.h"

#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "files and buffers are little-endian and written from memory");

void buf_init(struct buf *b, size_t max_len)
{
	*b = (struct buf)BUF_INIT(max_len);
}

void buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf)BUF_INIT(b->max);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = b->no_memory = false;
}

static bool make_room(struct buf *b, size_t len)
{
	size_t want;

	if (b->failed)
		return false;
	/* Allocate one byte more than is counted, so that buf_cstr() never has to. */
	b->failed = !CHECKED_ADD(b->len, len, &want) || want > b->max || want == SIZE_MAX;
	if (!b->failed)
		b->failed = b->no_memory = !GROW(b->p, &b->cap, want + 1, SIZE_MAX);
	return !b->failed;
}

/* This is small enough to be inlined into buf_append(), which writers call for each word. */
static inline uint8_t *extend_inline(struct buf *b, size_t len)
{
	const bool has_room = !b->failed && len < b->cap - b->len && len <= b->max - b->len;
	uint8_t *p;

	if (!has_room && !make_room(b, len))
		return NULL;
	p = b->p + b->len;
	b->len += len;
	return p;
}

uint8_t *buf_extend(struct buf *b, size_t len)
{
	return extend_inline(b, len);
}

bool buf_append(struct buf *b, const void *p, size_t len)
{
	uint8_t *to = extend_inline(b, len);

	if (!to)
		return false;
	if (len)
		memcpy(to, p, len);
	return true;
}

bool buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	/* Print into the free room first, where most texts fit. */
	size_t room = b->failed || !b->p ? 0 : (b->cap < b->max ? b->cap : b->max) - b->len;
	va_list again;
	uint8_t *to;
	int len;

	va_copy(again, ap);
	len = vsnprintf(room ? (char *)b->p + b->len : NULL, room, fmt, again);
	va_end(again);
	if (len < 0) {
		b->failed = true;
		return false;
	}
	to = buf_extend(b, (size_t)len);
	if (!to)
		return false;
	if ((size_t)len >= room)
		vsnprintf((char *)to, (size_t)len + 1, fmt, ap);
	return true;
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return ok;
}

bool buf_decimal(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	return buf_append(b, digits + at, sizeof(digits) - at);
}

bool buf_hex(struct buf *b, uint64_t v, unsigned int width)
{
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[v & 15];
	while ((v >>= 4) || sizeof(digits) - at < width);
	return buf_append(b, digits + at, sizeof(digits) - at);
}

bool buf_align(struct buf *b, size_t align)
{
	size_t pad = (align - b->len % align) % align;
	uint8_t *to = buf_extend(b, pad);

	if (!to)
		return false;
	memset(to, 0, pad);
	return true;
}

const char *buf_cstr(struct buf *b)
{
	if (b->failed || !b->p)
		return "";
	b->p[b->len] = 0;
	return (const char *)b->p;
}

bool buf_uleb(struct buf *b, uint64_t v)
{
	uint8_t out[10];
	size_t n = 0;

	do {
		out[n] = v & 0x7f;
		v >>= 7;
		if (v)
			out[n] |= 0x80;
		n++;
	} while (v);
	return buf_append(b, out, n);
}

bool buf_sleb(struct buf *b, int64_t v)
{
	uint8_t out[10];
	size_t n = 0;
	bool more = true;

	while (more) {
		out[n] = v & 0x7f;
		v >>= 7; /* arithmetic on gcc and clang */
		more = !((v == 0 && !(out[n] & 0x40)) || (v == -1 && (out[n] & 0x40)));
		if (more)
			out[n] |= 0x80;
		n++;
	}
	return buf_append(b, out, n);
}
