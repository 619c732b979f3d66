/* SPDX-License-Identifier: Apache-2.0 */
#include "gzip.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>

#define CHUNK       ((size_t)65536)
#define GZIP_WINDOW (MAX_WBITS + 16) /* zlib's way to say "gzip, not zlib" */

struct gzip_writer {
	z_stream z;
	struct buf *out;
};

bool gzip_is(const void *p, size_t len)
{
	const uint8_t *b = p;

	return len >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

/* Uses ISA-L, which inflates in a third of zlib's time and counts in 32 bits. */
int gzip_inflate(const void *p, size_t len, struct buf *out, struct err *err)
{
	_cleanup_(freep) struct inflate_state *s = malloc(sizeof(*s));
	uint8_t spare;

	if (len > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "gzip: %zu bytes are more than %u", len, UINT32_MAX);
	if (!s)
		return err_no_memory(err);
	isal_inflate_init(s);
	s->crc_flag = ISAL_GZIP;
	s->next_in = (uint8_t *)(uintptr_t)p;
	s->avail_in = (uint32_t)len;
	for (;;) {
		/* When out is full, one byte of space shows whether there is more. */
		size_t left = out->max - out->len;
		uint32_t before = s->avail_in, space = (uint32_t)(left > CHUNK ? CHUNK
								  : left       ? left
									       : 1);
		int rc;

		s->next_out = left ? buf_extend(out, space) : &spare;
		if (!s->next_out)
			return err_no_memory(err);
		s->avail_out = space;
		rc = isal_inflate(s);
		if (left)
			out->len -= s->avail_out;
		else if (!s->avail_out)
			return err_set(err, ERR_LIMIT, "gzip: inflates to more than %zu bytes",
				       out->max);
		if (rc != ISAL_DECOMP_OK)
			return err_set(err, ERR_DATA, "gzip: damaged at byte %zu",
				       len - s->avail_in);
		if (s->block_state != ISAL_BLOCK_FINISH) {
			if (s->avail_out == space && s->avail_in == before)
				return err_set(err, ERR_DATA, "gzip: cut short at byte %zu", len);
			continue;
		}
		if (!s->avail_in)
			return 0;
		isal_inflate_reset(s);
		s->crc_flag = ISAL_GZIP;
	}
}

int gzip_writer_open(struct gzip_writer **ret, struct buf *out, struct err *err)
{
	struct gzip_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_no_memory(err);
	if (deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(w);
		return err_no_memory(err);
	}
	w->out = out;
	*ret = w;
	return 0;
}

static int run_deflate(struct gzip_writer *w, int flush, struct err *err)
{
	uint8_t chunk[16384];

	do {
		w->z.next_out = chunk;
		w->z.avail_out = sizeof(chunk);
		if (deflate(&w->z, flush) == Z_STREAM_ERROR)
			return err_set(err, ERR_INTERNAL, "gzip: stream error");
		if (!buf_append(w->out, chunk, sizeof(chunk) - w->z.avail_out))
			return err_set(err, ERR_LIMIT, "gzip: more than %zu bytes", w->out->max);
	} while (w->z.avail_out == 0);
	return 0;
}

int gzip_writer_add(struct gzip_writer *w, const void *p, size_t len, struct err *err)
{
	const uint8_t *from = p;

	while (len) {
		size_t n = len < CHUNK ? len : CHUNK;

		w->z.next_in = (z_const Bytef *)(uintptr_t)from;
		w->z.avail_in = (unsigned int)n;
		TRY(run_deflate(w, Z_NO_FLUSH, err));
		from += n;
		len -= n;
	}
	return 0;
}

int gzip_writer_finish(struct gzip_writer *w, struct err *err)
{
	w->z.next_in = NULL;
	w->z.avail_in = 0;
	return run_deflate(w, Z_FINISH, err);
}

void gzip_writer_close(struct gzip_writer *w)
{
	if (!w)
		return;
	deflateEnd(&w->z);
	free(w);
}
