/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate.h"

#include <string.h>
#include <zstd.h>

#include "inflate_zlib.h"
#include "limits.h"

enum {
	PAD = 64
};

struct inflate_stream {
	enum inflate_kind kind;
	uint64_t out_left; /* bytes not yet read */
	uint64_t out_len;
	struct zlib_stream *zlib;
	ZSTD_DStream *zstd;
	ZSTD_inBuffer zstd_in;
};

static int wrong_length(const struct inflate_stream *s, const char *how, struct err *err)
{
	return err_set(err, ERR_DATA, "it inflates to %s than %llu bytes", how,
		       (unsigned long long)s->out_len);
}

/* Reads like zlib_stream_read(). */
static int zstd_read(struct inflate_stream *s, uint8_t *out, size_t *left, struct err *err)
{
	ZSTD_outBuffer o = {.dst = out, .size = *left};
	size_t rc = 1;

	while (rc && o.pos < o.size) {
		size_t before = o.pos + s->zstd_in.pos;

		rc = ZSTD_decompressStream(s->zstd, &o, &s->zstd_in);
		if (ZSTD_isError(rc))
			return err_set(err, ERR_DATA, "damaged zstd stream: %s",
				       ZSTD_getErrorName(rc));
		if (rc && o.pos + s->zstd_in.pos == before)
			return err_set(err, ERR_DATA, "damaged zstd stream: it is cut");
	}
	*left -= o.pos;
	return rc != 0;
}

static int stream_read(struct inflate_stream *s, uint8_t *out, size_t *left, struct err *err)
{
	return s->kind == INFLATE_ZLIB ? zlib_stream_read(s->zlib, out, left, err)
				       : zstd_read(s, out, left, err);
}

int inflate_stream_open(struct inflate_stream **ret, enum inflate_kind kind, const void *in,
			size_t in_len, uint64_t out_len, struct err *err)
{
	_cleanup_(inflate_stream_freep) struct inflate_stream *s = NULL;
	bool ok;

	if (kind != INFLATE_ZLIB && kind != INFLATE_ZSTD)
		return err_set(err, ERR_UNSUPPORTED, "unknown compression %d", (int)kind);
	if (out_len > LIMIT_SECTION_LEN || out_len / LIMIT_INFLATE_RATIO > in_len)
		return err_set(err, ERR_LIMIT, "%zu bytes claim to inflate to %llu", in_len,
			       (unsigned long long)out_len);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_no_memory(err);
	s->out_left = s->out_len = out_len;
	if (kind == INFLATE_ZLIB) {
		s->zlib = zlib_stream_new(in, in_len);
		ok = s->zlib != NULL;
	} else {
		s->zstd = ZSTD_createDStream();
		s->zstd_in = (ZSTD_inBuffer){.src = in, .size = in_len};
		ok = s->zstd && !ZSTD_isError(ZSTD_initDStream(s->zstd));
	}
	if (!ok)
		return err_no_memory(err);
	s->kind = kind;
	*ret = TAKE_PTR(s);
	return 0;
}

int inflate_stream_read(struct inflate_stream *s, void *out, size_t len, struct err *err)
{
	size_t left = len, one = 1;
	uint8_t behind;
	int rc = 1;

	if (left)
		rc = stream_read(s, out, &left, err);
	if (rc < 0)
		return rc;
	if (left)
		return wrong_length(s, "less", err);
	s->out_left -= len;
	if (s->out_left)
		return rc ? 0 : wrong_length(s, "less", err);
	/* Reading past the end verifies the checksum, and that there is no more. */
	if (rc)
		rc = stream_read(s, &behind, &one, err);
	if (rc < 0)
		return rc;
	return one ? 0 : wrong_length(s, "more", err);
}

size_t inflate_stream_position(const struct inflate_stream *s)
{
	if (s->kind == INFLATE_ZSTD)
		return s->zstd_in.pos;
	return zlib_stream_position(s->zlib);
}

void inflate_stream_free(struct inflate_stream *s)
{
	if (!s)
		return;
	zlib_stream_free(s->zlib);
	ZSTD_freeDStream(s->zstd);
	free(s);
}

int inflate_bytes(enum inflate_kind kind, const void *in, size_t in_len, uint64_t out_len,
		  uint8_t **ret_p, struct err *err)
{
	_cleanup_(inflate_stream_freep) struct inflate_stream *s = NULL;
	_cleanup_(freep) uint8_t *out = NULL;

	TRY(inflate_stream_open(&s, kind, in, in_len, out_len, err));
	/* Pages that the stream does not fill are never touched. */
	out = malloc(out_len + PAD);
	if (!out)
		return err_set(err, ERR_MEMORY, "no memory to inflate to %llu bytes",
			       (unsigned long long)out_len);
	TRY(inflate_stream_read(s, out, out_len, err));
	memset(out + out_len, 0, PAD);
	*ret_p = TAKE_PTR(out);
	return 0;
}
