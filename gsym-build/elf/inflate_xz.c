/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate_xz.h"

#include <lzma.h>

#include "limits.h"

static int explain_xz(lzma_ret rc, struct err *err)
{
	switch (rc) {
	case LZMA_MEM_ERROR:
		return err_no_memory(err);
	case LZMA_MEMLIMIT_ERROR:
		return err_set(err, ERR_LIMIT, "its xz decoder needs more than %llu bytes",
			       (unsigned long long)LIMIT_XZ_MEMORY);
	case LZMA_BUF_ERROR:
		return err_set(err, ERR_DATA, "cut xz stream");
	default:
		return err_set(err, ERR_DATA, "damaged xz stream");
	}
}

static int decode_xz(lzma_stream *s, uint64_t max, struct buf *out, struct err *err)
{
	uint8_t chunk[65536];
	lzma_ret rc = LZMA_OK;

	while (rc == LZMA_OK) {
		size_t have;

		s->next_out = chunk;
		s->avail_out = sizeof(chunk);
		rc = lzma_code(s, LZMA_FINISH);
		have = sizeof(chunk) - s->avail_out;
		if (have > max || out->len > max - have)
			return err_set(err, ERR_LIMIT, "it inflates to more than %llu bytes",
				       (unsigned long long)max);
		if (!buf_append(out, chunk, have))
			return err_no_memory(err);
	}
	if (rc != LZMA_STREAM_END)
		return explain_xz(rc, err);
	return s->avail_in ? err_set(err, ERR_DATA, "%zu bytes behind its xz stream", s->avail_in)
			   : 0;
}

int inflate_xz(const void *p, size_t len, struct buf *out, struct err *err)
{
	lzma_stream s = LZMA_STREAM_INIT;
	uint64_t max = out->max;
	lzma_ret init = lzma_stream_decoder(&s, LIMIT_XZ_MEMORY, 0);
	int rc;

	if (init != LZMA_OK)
		return explain_xz(init, err);
	if (max / LIMIT_INFLATE_RATIO > len)
		max = len * LIMIT_INFLATE_RATIO;
	s.next_in = p;
	s.avail_in = len;
	rc = decode_xz(&s, max, out, err);
	lzma_end(&s);
	return rc;
}
