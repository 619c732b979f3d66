/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ZSTD_FILE_H
#define RAWSTACK_ZSTD_FILE_H
/* Packs whole files into zstd frames (RFC 8878) and unpacks them, piece by piece, in a few
 * megabytes of memory. */
#include <stdint.h>

#include "err.h"

/* Packs the first len bytes of `in` to the start of `out`; *ret_len is the number of bytes written.
 * The frame records its length and a checksum. Returns ERR_IO, ERR_MEMORY or ERR_INTERNAL. */
int zstd_file_pack(int in, uint64_t len, int out, uint64_t *ret_len, struct err *err) _must_check_;

/* Unpacks `in` to `out`. Returns ERR_DATA if `in` is damaged or holds more than max bytes. */
int zstd_file_unpack(int in, int out, uint64_t max, struct err *err) _must_check_;

#endif
