/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ZSTD_FILE_H
#define RAWSTACK_ZSTD_FILE_H
/* Whole files into zstd frames (RFC 8878) and back, piece by piece: a few megabytes of memory. */
#include <stdint.h>

#include "err.h"

/* len bytes of `in` from its start, to `out` at its start; *ret_len: bytes written. ERR_IO,
 * ERR_MEMORY, ERR_INTERNAL. The frame knows its length and has a checksum. */
int zstd_file_pack(int in, uint64_t len, int out, uint64_t *ret_len, struct err *err) _must_check_;

/* The reverse. ERR_DATA when `in` is damaged or holds more than max bytes. */
int zstd_file_unpack(int in, int out, uint64_t max, struct err *err) _must_check_;

#endif
