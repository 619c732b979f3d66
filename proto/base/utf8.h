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

bool utf8_valid(const void *p, size_t len);

/* Appends text with each ill-formed byte replaced by U+FFFD. */
bool utf8_append(struct buf *out, const void *p, size_t len);

#endif
