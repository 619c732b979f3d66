/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_ZLIB_H
#define RAWSTACK_INFLATE_ZLIB_H
/*
 * zlib streams (RFC 1950) from memory, piece by piece, by ISA-L: half of what a build costs is
 * inflating, and ISA-L takes 0.4 of zlib's time for it on x86-64, where its inner loop is
 * assembler; elsewhere it is plain C. For inflate.h only. One thread at a time.
 */
#include "err.h"

struct zlib_stream;

/* The input must stay as it is. NULL: out of memory. */
struct zlib_stream *zlib_stream_new(const void *in, size_t len);
void zlib_stream_free(struct zlib_stream *z);

/* Fills out as far as the stream goes: *left becomes the bytes that are missing. 1: it may go on;
 * 0: it ended, its checksum is right. ERR_DATA. */
int zlib_stream_read(struct zlib_stream *z, uint8_t *out, size_t *left, struct err *err);

/* How many bytes of the input will not be read again. */
size_t zlib_stream_position(const struct zlib_stream *z);

#endif
