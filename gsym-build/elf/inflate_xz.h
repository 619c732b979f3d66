/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_INFLATE_XZ_H
#define RAWSTACK_INFLATE_XZ_H
/*
 * Decompression of an .xz file whose length is not known beforehand, as .gnu_debugdata is one.
 */
#include "buf.h"
#include "err.h"
#include "limits.h"

/* The memory of a decoder: what `xz -9` wrote takes 65 MiB. */
#define LIMIT_XZ_MEMORY (128 * MIB)

/*
 * Appends what the len bytes at p hold to out, which is empty. ERR_DATA: damaged, cut, or followed
 * by other bytes. ERR_LIMIT: it would exceed the ceiling of out or LIMIT_INFLATE_RATIO, or a
 * decoder of LIMIT_XZ_MEMORY. ERR_MEMORY.
 */
int inflate_xz(const void *p, size_t len, struct buf *out, struct err *err) _must_check_;

#endif
