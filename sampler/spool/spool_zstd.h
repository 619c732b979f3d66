/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_ZSTD_H
#define RAWSTACK_SPOOL_ZSTD_H
/*
 * Blocks of at most SPOOL_BLOCK_LEN bytes, packed and unpacked with zstd (RFC 8878), each one frame
 * of its own. Only this module of the spool uses zstd. One thread at a time uses each object.
 */
#include "base.h"

struct spool_packer;
struct spool_unpacker;

struct spool_packer *spool_packer_new(void); /* NULL without memory */
void spool_packer_free(struct spool_packer *p);
DEFINE_FREEP(struct spool_packer, spool_packer_free);

/* Packs `from` to `to`, which has room for `len` bytes, and returns the length: less than len, or
 * len for a plain copy, when packing gains nothing. */
size_t spool_pack_block(struct spool_packer *p, const uint8_t *from, size_t len, uint8_t *to);

/* Loads the code that packing needs into memory now, not when the first segment is full. */
void spool_packer_settle(void);

struct spool_unpacker *spool_unpacker_new(void); /* NULL without memory */
void spool_unpacker_free(struct spool_unpacker *u);

/* Unpacks `from` to `to`. Returns whether it is exactly `want` bytes; never writes more, whatever
 * the block says of itself. */
bool spool_unpack(struct spool_unpacker *u, const uint8_t *from, size_t len, uint8_t *to,
		  size_t want);

#endif
