/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_TEXT_WRITER_H
#define RAWSTACK_RSYM_TEXT_WRITER_H
/*
 * Packs a pool of sorted strings: blocks of a few, front-coded, each compressed by zstd with one
 * dictionary that was trained on the pool itself. rsym_text.h reads it. Equal strings and an equal
 * zstd give equal bytes. `quick`: it will be read once, so time counts and bytes do not; there is
 * no dictionary then.
 */
#include "buf.h"
#include "err.h"

struct rsym_string {
	const uint8_t *p;
	size_t len;
};

/* Appends the pool to out, where failure sticks. ERR_MEMORY, ERR_LIMIT, ERR_INTERNAL (zstd). */
int rsym_text_write(const struct rsym_string *strings, uint32_t count, unsigned int block_strings,
		    bool quick, struct buf *out, struct err *err) _must_check_;

#endif
