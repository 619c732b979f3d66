/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_inflate.h"

#include <zlib.h>

/* zlib's way to say "gzip or zlib, as the first bytes tell". */
#define EITHER_WINDOW (MAX_WBITS + 32)
#define CHUNK         ((size_t)65536)

/* Inflates until the stream ends. When out is full, one byte of space shows whether there is
 * more. */
static int inflate_stream(z_stream *z, size_t len, struct buf *out, struct err *err)
{
	uint8_t spare;
	int rc;

	do {
		size_t left = out->max - out->len;
		size_t space = left > CHUNK ? CHUNK : left ? left : 1;

		z->next_out = left ? buf_extend(out, space) : &spare;
		if (!z->next_out)
			return err_no_memory(err);
		z->avail_out = (uInt)space;
		rc = inflate(z, Z_NO_FLUSH);
		if (left)
			out->len -= z->avail_out;
		else if (!z->avail_out)
			return err_set(err, ERR_LIMIT, "inflates to more than %zu bytes", out->max);
		if (rc == Z_MEM_ERROR)
			return err_no_memory(err);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(err, ERR_DATA, "compressed, and %s at byte %zu of %zu",
				       rc == Z_BUF_ERROR ? "cut short" : "damaged",
				       len - z->avail_in, len);
	} while (rc != Z_STREAM_END);
	if (z->avail_in)
		return err_set(err, ERR_DATA, "compressed, and followed by %u more bytes",
			       z->avail_in);
	return 0;
}

int rpc_inflate(const void *p, size_t len, struct buf *out, struct err *err)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)p, .avail_in = (uInt)len};
	int rc;

	if (len > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "compressed bytes: %zu, at most %u", len,
			       UINT32_MAX);
	if (inflateInit2(&z, EITHER_WINDOW) != Z_OK)
		return err_no_memory(err);
	rc = inflate_stream(&z, len, out, err);
	inflateEnd(&z);
	return rc;
}
