/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_TEXT_H
#define RAWSTACK_RSYM_TEXT_H
/*
 * Reads a pool of sorted strings that rsym_text_write() packed. Reading a string unpacks one zstd
 * block of 16 or 32 strings; struct rsym_text_reader keeps the zstd state and caches unpacked
 * blocks.
 */
#include "err.h"
#include "rsym.h"

/* The largest unpacked block: 32 strings of LIMIT_NAME_LEN. */
#define RSYM_TEXT_BLOCK_MAX (UINT64_C(32) * (LIMIT_NAME_LEN + 8))

/* The most bytes that all blocks of a pool unpack to. The builder makes no more; a table that
 * unpacks to more is an attack on its reader. */
#define RSYM_TEXTS_MAX LIMIT_TABLE_LEN

/* Finds the parts of a pool and proves that they are inside of it. Reads the header only.
 * ERR_DATA. */
int rsym_texts_open(struct rsym_texts *t, const uint8_t *p, uint64_t len, struct err *err);

/* Unpacks every block once and checks its strings, their order, and their lengths, at most
 * LIMIT_NAME_LEN each and RSYM_TEXTS_MAX together. ERR_DATA, ERR_MEMORY. */
int rsym_texts_check(const struct rsym_texts *t, struct err *err) _must_check_;

struct rsym_text_reader;

/* Makes a reader that caches at most cache_max bytes of unpacked blocks, or only the last block if
 * that is 0. The bytes of t must outlive it. Returns NULL if memory is out. */
struct rsym_text_reader *rsym_text_reader_new(const struct rsym_texts *t, size_t cache_max);
void rsym_text_reader_free(struct rsym_text_reader *r);

/* Reads string i, which is below t->count; it is valid until the next call. ERR_DATA,
 * ERR_MEMORY. */
int rsym_text_get(struct rsym_text_reader *r, uint32_t i, const uint8_t **ret, size_t *ret_len,
		  struct err *err);

/* Returns how many bytes were unpacked so far, a measure of the cost of reading texts. */
uint64_t rsym_text_unpacked_len(const struct rsym_text_reader *r);

#endif
