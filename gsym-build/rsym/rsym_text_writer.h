/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_TEXT_WRITER_H
#define RAWSTACK_RSYM_TEXT_WRITER_H
/*
 * Packs a pool of sorted strings into front-coded blocks, each compressed by zstd with a dictionary
 * trained on the pool itself. rsym_text.h reads it. Equal strings and the same zstd version give
 * equal bytes. `quick` is for a table that is used once: it favours speed over size and makes no
 * dictionary.
 */
#include "buf.h"
#include "err.h"

struct rsym_string {
	const uint8_t *p;
	size_t len;
};

/* Appends the pool to out. A failure is sticky in out. ERR_MEMORY, ERR_LIMIT, ERR_INTERNAL
 * (zstd). */
int rsym_text_write(const struct rsym_string *strings, uint32_t count, unsigned int block_strings,
		    bool quick, struct buf *out, struct err *err) _must_check_;

#endif
