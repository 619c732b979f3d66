/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_TEXT_H
#define RAWSTACK_RSYM_TEXT_H
/*
 * Reads a pool of sorted strings that rsym_text_write() packed. A string costs one zstd block of 16
 * or 32; struct rsym_text_reader keeps what reading takes and the blocks already unpacked.
 */
#include "err.h"
#include "rsym.h"

/* A block, unpacked: 32 strings of LIMIT_NAME_LEN. */
#define RSYM_TEXT_BLOCK_MAX (UINT64_C(32) * (LIMIT_NAME_LEN + 8))

/* Of a pool, all blocks unpacked: a builder makes no more, and a small table that unpacks to more
 * is made to keep its reader busy. */
#define RSYM_TEXTS_MAX LIMIT_TABLE_LEN

/* Finds the parts of a pool and proves that they are inside of it. Reads the header only.
 * ERR_DATA. */
int rsym_texts_open(struct rsym_texts *t, const uint8_t *p, uint64_t len, struct err *err);

/* Unpacks everything once: each block, each string of it, their order and their lengths, which are
 * LIMIT_NAME_LEN at most; at most RSYM_TEXTS_MAX. ERR_DATA, ERR_MEMORY. */
int rsym_texts_check(const struct rsym_texts *t, struct err *err) _must_check_;

struct rsym_text_reader;

/* Keeps at most cache_max bytes of unpacked blocks; 0: only the last one. The bytes of t must
 * outlive it. NULL: out of memory. */
struct rsym_text_reader *rsym_text_reader_new(const struct rsym_texts *t, size_t cache_max);
void rsym_text_reader_free(struct rsym_text_reader *r);

/* String i, below t->count; valid until the next call. ERR_DATA, ERR_MEMORY. */
int rsym_text_get(struct rsym_text_reader *r, uint32_t i, const uint8_t **ret, size_t *ret_len,
		  struct err *err);

/* Bytes that were unpacked so far: what reading texts costs. */
uint64_t rsym_text_unpacked_len(const struct rsym_text_reader *r);

#endif
