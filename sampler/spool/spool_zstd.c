/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_zstd.h"

#include <string.h>
#include <zstd.h>

/* Level 1 makes a twentieth more bytes than level 3 in a third of its time, which the capturer
 * pays. Most of the bytes are times of samples, which no level makes small. */
#define LEVEL 1

struct spool_packer {
	ZSTD_CCtx *zstd;
};

struct spool_unpacker {
	ZSTD_DCtx *zstd;
};

struct spool_packer *spool_packer_new(void)
{
	_cleanup_(spool_packer_freep) struct spool_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->zstd = ZSTD_createCCtx();
	return p->zstd ? TAKE_PTR(p) : NULL;
}

void spool_packer_free(struct spool_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

size_t spool_pack_block(struct spool_packer *p, const uint8_t *from, size_t len, uint8_t *to)
{
	size_t n = ZSTD_compressCCtx(p->zstd, to, len, from, len, LEVEL);

	if (!ZSTD_isError(n) && n < len)
		return n;
	memcpy(to, from, len);
	return len;
}

void spool_packer_settle(void)
{
	enum {
		LEN = 16384 /* enough to run all the code that packs a block */
	};
	_cleanup_(spool_packer_freep) struct spool_packer *p = spool_packer_new();
	_cleanup_(freep) uint8_t *from = malloc(LEN), *to = malloc(LEN);

	if (!p || !from || !to)
		return;
	for (uint32_t i = 0; i < LEN; i++)
		from[i] = (uint8_t)(i * i >> 9);
	spool_pack_block(p, from, LEN, to);
}

struct spool_unpacker *spool_unpacker_new(void)
{
	struct spool_unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (u->zstd)
		return u;
	free(u);
	return NULL;
}

void spool_unpacker_free(struct spool_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u);
}

/* One call with the whole output buffer lets zstd use that as its window and allocate none. */
bool spool_unpack(struct spool_unpacker *u, const uint8_t *from, size_t len, uint8_t *to,
		  size_t want)
{
	if (len == want) {
		memcpy(to, from, len);
		return true;
	}
	return ZSTD_decompressDCtx(u->zstd, to, want, from, len) == want;
}
