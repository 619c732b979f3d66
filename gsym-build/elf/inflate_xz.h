/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_XZ_H
#define RAWSTACK_INFLATE_XZ_H
/* Decompresses an .xz file whose decompressed length is not known beforehand, such as
 * .gnu_debugdata. */
#include "buf.h"
#include "err.h"
#include "limits.h"

/* The most memory of the decoder; a file that `xz -9` wrote takes 65 MiB. */
#define LIMIT_XZ_MEMORY (128 * MIB)

/*
 * Decompresses the len bytes at p to out, which is empty. ERR_DATA: they are damaged, cut, or
 * followed by other bytes. ERR_LIMIT: the output would exceed the ceiling of out or
 * LIMIT_INFLATE_RATIO, or the decoder LIMIT_XZ_MEMORY. ERR_MEMORY.
 */
int inflate_xz(const void *p, size_t len, struct buf *out, struct err *err) _must_check_;

#endif
