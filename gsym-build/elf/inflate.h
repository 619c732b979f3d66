/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_H
#define RAWSTACK_INFLATE_H
/*
 * Decompresses sections, whole or piece by piece, to a size known beforehand. Decompression bombs
 * are stopped twice: the declared size is checked against the input's, and output beyond it is an
 * error.
 */
#include "err.h"

enum inflate_kind {
	INFLATE_NONE = 0, /* not compressed */
	INFLATE_ZLIB = 1, /* RFC 1950; ELFCOMPRESS_ZLIB */
	INFLATE_ZSTD = 2, /* RFC 8878; ELFCOMPRESS_ZSTD */
};

/*
 * Inflates exactly out_len bytes into *ret_p, which the caller frees; 64 zero bytes follow them.
 * ERR_DATA: damaged, or of another length. ERR_LIMIT: out_len is above LIMIT_SECTION_LEN or
 * LIMIT_INFLATE_RATIO times in_len. ERR_MEMORY. ERR_UNSUPPORTED: unknown kind.
 */
int inflate_bytes(enum inflate_kind kind, const void *in, size_t in_len, uint64_t out_len,
		  uint8_t **ret_p, struct err *err) _must_check_;

/* A stream inflates piece by piece into memory of the caller. The input must not change. Only one
 * thread at a time may use a stream. */
struct inflate_stream;

int inflate_stream_open(struct inflate_stream **ret, enum inflate_kind kind, const void *in,
			size_t in_len, uint64_t out_len, struct err *err) _must_check_;

/*
 * Reads the next len bytes, which must not reach beyond out_len. Reading the last ones fails unless
 * the stream ends there. The errors are those of inflate_bytes(); after one, the stream can only be
 * freed.
 */
int inflate_stream_read(struct inflate_stream *s, void *out, size_t len,
			struct err *err) _must_check_;
/* Returns how many bytes of the input will not be read again. */
size_t inflate_stream_position(const struct inflate_stream *s);
void inflate_stream_free(struct inflate_stream *s);
DEFINE_FREEP(struct inflate_stream, inflate_stream_free);

#endif
