/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

/* Writes a comma if a value precedes in the same container. The last byte shows that: a value ends
 * with a quote, a bracket, a digit, or the last letter of true, false and null. */
static void put_separator(struct buf *out)
{
	if (out->len && memchr("\"}]0123456789el", out->p[out->len - 1], 15))
		buf_u8(out, ',');
}

void json_open(struct buf *out, char bracket)
{
	put_separator(out);
	buf_u8(out, (uint8_t)bracket);
}

void json_close(struct buf *out, char bracket)
{
	buf_u8(out, (uint8_t)bracket);
}

/* Returns how many bytes at the front need no escape in JSON or HTML: nearly all do not. */
static size_t plain_json_len(const uint8_t *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' &&
	       s[n] != '<' && s[n] != '>' && s[n] != '&')
		n++;
	return n;
}

void json_text(struct buf *out, const void *p, size_t len)
{
	const uint8_t *s = p;

	put_separator(out);
	buf_u8(out, '"');
	while (len) {
		size_t n = plain_json_len(s, len);

		if (n) {
			buf_append(out, s, n);
			s += n;
			len -= n;
			continue;
		}
		n = utf8_sequence(s, len);
		if (!n)
			buf_str(out, "\\ufffd");
		else if (n > 1 && utf8_shown(s, len))
			buf_append(out, s, n);
		else /* characters that no terminal may show are below U+10000 */
			buf_printf(out, "\\u%04x", utf8_code_point(s, n));
		n = n ? n : 1;
		s += n;
		len -= n;
	}
	buf_u8(out, '"');
}

void json_key(struct buf *out, const char *key)
{
	json_text(out, key, strlen(key));
	buf_u8(out, ':');
}

void json_unsigned(struct buf *out, uint64_t v)
{
	put_separator(out);
	buf_decimal(out, v);
}

void json_number(struct buf *out, int64_t v)
{
	if (v >= 0) {
		json_unsigned(out, (uint64_t)v);
		return;
	}
	put_separator(out);
	buf_printf(out, "%" PRId64, v);
}

void json_decimal(struct buf *out, double v)
{
	put_separator(out);
	buf_printf(out, "%.6f", v);
}

void json_bool(struct buf *out, bool v)
{
	put_separator(out);
	buf_str(out, v ? "true" : "false");
}

void json_null(struct buf *out)
{
	put_separator(out);
	buf_str(out, "null");
}

void json_key_text(struct buf *out, const char *key, const void *p, size_t len)
{
	json_key(out, key);
	json_text(out, p, len);
}

void json_key_cstr(struct buf *out, const char *key, const char *s)
{
	json_key_text(out, key, s, strlen(s));
}

void json_key_number(struct buf *out, const char *key, int64_t v)
{
	json_key(out, key);
	json_number(out, v);
}

void json_key_unsigned(struct buf *out, const char *key, uint64_t v)
{
	json_key(out, key);
	json_unsigned(out, v);
}

void json_key_bool(struct buf *out, const char *key, bool v)
{
	json_key(out, key);
	json_bool(out, v);
}

void json_key_share(struct buf *out, const char *key, double v)
{
	json_key(out, key);
	json_decimal(out, v);
}

void json_key_hex(struct buf *out, const char *key, uint64_t v)
{
	json_key(out, key);
	buf_printf(out, "\"0x%" PRIx64 "\"", v);
}
