/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UTF8_H
#define RAWSTACK_UTF8_H
/*
 * Turns the bytes of names, which come from files and hosts, into the UTF-8 (RFC 3629) that pprof,
 * JSON and HTML need. Nothing else in the tree does.
 */
#include "buf.h"

/* Returns the length of the well-formed sequence at p (1 to 4; no surrogates, no overlong forms),
 * or 0. */
size_t utf8_sequence(const uint8_t *p, size_t left);

/* Returns the character of a well-formed sequence of that length. */
uint32_t utf8_code_point(const uint8_t *p, size_t len);

/*
 * Returns the length of the character at p if it may be shown on a terminal. Returns 0 if it is a
 * control character (C0, C1, DEL), changes the direction of text, breaks a line, or is ill-formed.
 */
size_t utf8_shown(const uint8_t *p, size_t left);

/* Replaces each byte of a character that may not be shown by '?'; the length stays. */
void utf8_mask(char *s, size_t len);

/* Appends text, with each ill-formed byte replaced by U+FFFD. */
bool utf8_append(struct buf *out, const void *p, size_t len);

#endif
