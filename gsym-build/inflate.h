/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_H
#define RAWSTACK_INFLATE_H
/*
 * Decompression of whole sections, into memory of a size known beforehand. Bombs are stopped twice:
 * the declared size is checked against the input's, and output beyond it is an error.
 */
#include "err.h"

enum inflate_kind {
	INFLATE_ZLIB = 1, /* RFC 1950; ELFCOMPRESS_ZLIB */
	INFLATE_ZSTD = 2, /* RFC 8878; ELFCOMPRESS_ZSTD */
};

/*
 * Exactly out_len bytes into *ret_p, which the caller frees; 64 zero bytes stand behind them.
 * ERR_DATA: damaged, or of another length. ERR_LIMIT: out_len is above LIMIT_SECTION_LEN or
 * LIMIT_INFLATE_RATIO times in_len. ERR_MEMORY. ERR_UNSUPPORTED: unknown kind.
 */
int inflate_bytes(enum inflate_kind kind, const void *in, size_t in_len, uint64_t out_len,
		  uint8_t **ret_p, struct err *err) _must_check_;

#endif
