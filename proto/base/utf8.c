/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

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

bool utf8_valid(const void *p, size_t len)
{
	const uint8_t *s = p;

	while (len) {
		size_t n = utf8_sequence(s, len);

		if (!n)
			return false;
		s += n;
		len -= n;
	}
	return true;
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
