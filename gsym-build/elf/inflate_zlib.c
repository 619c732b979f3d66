/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate_zlib.h"

#include <isa-l/igzip_lib.h>

/* The library counts in 32-bit numbers, some of them signed, but sections may be longer. */
#define CHUNK_MAX ((size_t)1 << 30)

struct zlib_stream {
	const uint8_t *in; /* input that the library has not got yet */
	size_t in_left;    /* bytes at in */
	size_t in_len;
	struct inflate_state isal;
};

struct zlib_stream *zlib_stream_new(const void *in, size_t len)
{
	struct zlib_stream *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->in = in;
	z->in_left = z->in_len = len;
	isal_inflate_init(&z->isal);
	z->isal.crc_flag = ISAL_ZLIB;
	return z;
}

void zlib_stream_free(struct zlib_stream *z)
{
	free(z);
}

int zlib_stream_read(struct zlib_stream *z, uint8_t *out, size_t *left, struct err *err)
{
	struct inflate_state *s = &z->isal;

	while (*left && s->block_state != ISAL_BLOCK_FINISH) {
		uint32_t room = (uint32_t)(*left < CHUNK_MAX ? *left : CHUNK_MAX), had;

		if (!s->avail_in && z->in_left) {
			s->next_in = (uint8_t *)(uintptr_t)z->in;
			s->avail_in = (uint32_t)(z->in_left < CHUNK_MAX ? z->in_left : CHUNK_MAX);
			z->in += s->avail_in;
			z->in_left -= s->avail_in;
		}
		had = s->avail_in;
		s->next_out = out;
		s->avail_out = room;
		if (isal_inflate(s) != ISAL_DECOMP_OK)
			return err_set(err, ERR_DATA, "damaged zlib stream");
		if (s->avail_out == room && s->avail_in == had &&
		    s->block_state != ISAL_BLOCK_FINISH)
			return err_set(err, ERR_DATA, "cut zlib stream");
		out += room - s->avail_out;
		*left -= room - s->avail_out;
	}
	return s->block_state != ISAL_BLOCK_FINISH;
}

size_t zlib_stream_position(const struct zlib_stream *z)
{
	return z->in_len - z->in_left - z->isal.avail_in;
}
