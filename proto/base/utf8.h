/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UTF8_H
#define RAWSTACK_UTF8_H
/*
 * Names come from files and hosts as bytes; pprof, JSON and HTML want UTF-8 (RFC 3629). These
 * are the only places where one becomes the other.
 */
#include "buf.h"

/* Length of the well-formed sequence at p (1 to 4; no surrogates, no overlong forms), or 0. */
size_t utf8_sequence(const uint8_t *p, size_t left);

/* The character of a sequence of that length. */
uint32_t utf8_code_point(const uint8_t *p, size_t len);

/*
 * The length of the character at p if a terminal may be shown it: not when it is a control (C0, C1,
 * DEL), changes the direction of text, breaks a line, or is ill-formed; then 0.
 */
size_t utf8_shown(const uint8_t *p, size_t left);

/* Puts a '?' for each byte of what may not be shown; the length stays. */
void utf8_mask(char *s, size_t len);

/* Appends text with each ill-formed byte replaced by U+FFFD. */
bool utf8_append(struct buf *out, const void *p, size_t len);

#endif
