/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JSON_H
#define RAWSTACK_JSON_H
/*
 * Writes JSON (RFC 8259): for --json, one object per line, and for file formats of other tools.
 * Keys keep the order in which they are written. Bytes that are not UTF-8 become U+FFFD. The text
 * is also safe inside HTML and on a terminal: '<', '>', '&' and characters that utf8_shown()
 * refuses are written as \uNNNN.
 *
 *	json_open(out, '{');
 *	json_key_text(out, "path", p, len);
 *	json_key_number(out, "line", 12);
 *	json_close(out, '}');
 *	buf_str(out, "\n");
 *
 * The module looks at the last byte to know whether a comma is due, so callers write values in
 * order and no commas.
 */
#include "buf.h"

void json_open(struct buf *out, char bracket); /* '{' or '[' */
void json_close(struct buf *out, char bracket);
void json_key(struct buf *out, const char *key);

void json_text(struct buf *out, const void *p, size_t len);
void json_number(struct buf *out, int64_t v);
void json_unsigned(struct buf *out, uint64_t v);
void json_decimal(struct buf *out, double v); /* with six digits */
void json_bool(struct buf *out, bool v);
void json_null(struct buf *out);

void json_key_text(struct buf *out, const char *key, const void *p, size_t len);
void json_key_cstr(struct buf *out, const char *key, const char *s);
void json_key_number(struct buf *out, const char *key, int64_t v);
void json_key_unsigned(struct buf *out, const char *key, uint64_t v);
void json_key_bool(struct buf *out, const char *key, bool v);

/* Writes a fraction from 0 to 1 with six digits. */
void json_key_share(struct buf *out, const char *key, double v);

/* Writes an address as text, because JSON numbers are exact only up to 2^53. */
void json_key_hex(struct buf *out, const char *key, uint64_t v);

#endif
