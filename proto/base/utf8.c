/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

#include <string.h>

size_t utf8_sequence(const uint8_t *p, size_t left)
{
	size_t len;

	if (!left)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

uint32_t utf8_code_point(const uint8_t *p, size_t len)
{
	switch (len) {
	case 1:
		return p[0];
	case 2:
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	case 3:
		return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	default:
		return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 |
		       (p[3] & 0x3fu);
	}
}

/* Embeddings, overrides and isolates of the Unicode bidirectional algorithm, and line breaks. */
static bool is_tricky(uint32_t c)
{
	return (c >= 0x80 && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t utf8_shown(const uint8_t *p, size_t left)
{
	size_t len = utf8_sequence(p, left);
	uint32_t c = len ? utf8_code_point(p, len) : 0;

	return !len || c < 0x20 || c == 0x7f || is_tricky(c) ? 0 : len;
}

/* Returns whether eight bytes are printable ASCII, as nearly all names are. */
static bool are_plain(const uint8_t *p)
{
	const uint64_t ones = UINT64_MAX / 0xff;
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	/* The high bit of each byte: as it is, less 0x20, and plus 1. A carry or a borrow reaches
	 * the next byte only from one that is not plain. */
	return !((w | (w - 0x20 * ones) | (w + ones)) & 0x80 * ones);
}

void utf8_mask(char *s, size_t len)
{
	uint8_t *p = (uint8_t *)s;

	for (size_t at = 0; at < len;) {
		size_t n;

		if (len - at >= 8 && are_plain(p + at)) {
			at += 8;
			continue;
		}
		n = p[at] >= 0x20 && p[at] < 0x7f ? 1 : utf8_shown(p + at, len - at);
		if (!n) {
			n = utf8_sequence(p + at, len - at);
			n = n ? n : 1;
			memset(p + at, '?', n);
		}
		at += n;
	}
}

bool utf8_append(struct buf *out, const void *p, size_t len)
{
	const uint8_t *s = p;

	while (len) {
		size_t n = utf8_sequence(s, len);

		if (n)
			buf_append(out, s, n);
		else
			buf_str(out, "\xef\xbf\xbd");
		n = n ? n : 1;
		s += n;
		len -= n;
	}
	return !out->failed;
}
