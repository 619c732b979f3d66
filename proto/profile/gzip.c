/* SPDX-License-Identifier: Apache-2.0 */
#include "gzip.h"

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

static void inflate_done(z_stream *z)
{
	inflateEnd(z);
}

int gzip_inflate(const void *p, size_t len, struct buf *out, struct err *err)
{
	_cleanup_(inflate_done) z_stream z = {0};
	uint8_t chunk[16384];
	int rc;

	if (len > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "gzip: %zu bytes are more than %u", len, UINT32_MAX);
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return err_set(err, ERR_MEMORY, "gzip: out of memory");
	z.next_in = (z_const Bytef *)(uintptr_t)p;
	z.avail_in = (unsigned int)len;
	for (;;) {
		z.next_out = chunk;
		z.avail_out = sizeof(chunk);
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(err, ERR_DATA, "gzip: %s at byte %lu",
				       rc == Z_BUF_ERROR ? "cut short"
				       : z.msg           ? z.msg
							 : "damaged",
				       z.total_in);
		if (!buf_append(out, chunk, sizeof(chunk) - z.avail_out))
			return err_set(err, ERR_LIMIT, "gzip: inflates to more than %zu bytes",
				       out->max);
		if (rc != Z_STREAM_END)
			continue;
		if (!z.avail_in)
			return 0;
		if (inflateReset(&z) != Z_OK)
			return err_set(err, ERR_INTERNAL, "gzip: cannot reset");
	}
}

int gzip_writer_open(struct gzip_writer **ret, struct buf *out, struct err *err)
{
	struct gzip_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, ERR_MEMORY, "gzip: out of memory");
	if (deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(w);
		return err_set(err, ERR_MEMORY, "gzip: out of memory");
	}
	w->out = out;
	*ret = w;
	return 0;
}

static int run(struct gzip_writer *w, int flush, struct err *err)
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
		int rc;

		w->z.next_in = (z_const Bytef *)(uintptr_t)from;
		w->z.avail_in = (unsigned int)n;
		rc = run(w, Z_NO_FLUSH, err);
		if (rc)
			return rc;
		from += n;
		len -= n;
	}
	return 0;
}

int gzip_writer_finish(struct gzip_writer *w, struct err *err)
{
	w->z.next_in = NULL;
	w->z.avail_in = 0;
	return run(w, Z_FINISH, err);
}

void gzip_writer_close(struct gzip_writer *w)
{
	if (!w)
		return;
	deflateEnd(&w->z);
	free(w);
}
