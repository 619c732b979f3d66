/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JSON_H
#define RAWSTACK_JSON_H
/*
 * JSON (RFC 8259), written: for --json, one object per line, and for file formats of others. Keys
 * stand in the order written. Bytes that are not UTF-8 become U+FFFD. Also safe inside HTML and on
 * a terminal: '<', '>', '&' and what utf8_shown() keeps from it are written as \uNNNN.
 *
 *	json_open(out, '{');
 *	json_key_text(out, "path", p, len);
 *	json_key_number(out, "line", 12);
 *	json_close(out, '}');
 *	buf_str(out, "\n");
 *
 * Separators come from what was written before, so values are written in order and no commas.
 */
#include "buf.h"

void json_open(struct buf *out, char bracket); /* '{' or '[' */
void json_close(struct buf *out, char bracket);
void json_key(struct buf *out, const char *key);

void json_text(struct buf *out, const void *p, size_t len);
void json_number(struct buf *out, int64_t v);
void json_bool(struct buf *out, bool v);
void json_null(struct buf *out);

void json_key_text(struct buf *out, const char *key, const void *p, size_t len);
void json_key_cstr(struct buf *out, const char *key, const char *s);
void json_key_number(struct buf *out, const char *key, int64_t v);
void json_key_bool(struct buf *out, const char *key, bool v);

/* A fraction, 0 to 1, with six digits. */
void json_key_share(struct buf *out, const char *key, double v);

/* Addresses are text: JSON numbers end at 2^53. */
void json_key_hex(struct buf *out, const char *key, uint64_t v);

#endif
