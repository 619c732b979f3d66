/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_ZLIB_H
#define RAWSTACK_INFLATE_ZLIB_H
/*
 * Inflates zlib streams (RFC 1950) from memory, piece by piece, with ISA-L. Half of what a build
 * costs is inflating, and ISA-L takes 0.4 of zlib's time for it on x86-64, where its inner loop is
 * assembler; elsewhere it is plain C. Only inflate.c calls it. Only one thread at a time may use a
 * stream.
 */
#include "err.h"

struct zlib_stream;

/* Makes a stream of the len bytes at `in`, which must not change. Returns NULL if memory is out. */
struct zlib_stream *zlib_stream_new(const void *in, size_t len);
void zlib_stream_free(struct zlib_stream *z);

/* Fills `out` as far as the stream goes; *left becomes the number of bytes that are missing.
 * Returns 1 if the stream may go on, or 0 if it ended and its checksum is right. ERR_DATA. */
int zlib_stream_read(struct zlib_stream *z, uint8_t *out, size_t *left, struct err *err);

/* Returns how many bytes of the input will not be read again. */
size_t zlib_stream_position(const struct zlib_stream *z);

#endif
