/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "limits.h"

enum {
	PAD = 64
};

static int wrong_length(uint64_t got, uint64_t want, struct err *err)
{
	return err_set(err, ERR_DATA, "it inflates to %llu bytes instead of %llu",
		       (unsigned long long)got, (unsigned long long)want);
}

static int zlib_bytes(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len,
		      struct err *err)
{
	z_stream z = {0};
	size_t in_left = in_len, out_left = out_len;
	int rc = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return err_set(err, ERR_MEMORY, "zlib: out of memory");
	/* The library counts in 32 bits; sections may be longer. */
	z.next_in = (Bytef *)(uintptr_t)in;
	z.next_out = out;
	while (rc == Z_OK) {
		if (!z.avail_in && in_left) {
			z.avail_in = in_left > UINT32_MAX ? UINT32_MAX : (uInt)in_left;
			in_left -= z.avail_in;
		}
		if (!z.avail_out && out_left) {
			z.avail_out = out_left > UINT32_MAX ? UINT32_MAX : (uInt)out_left;
			out_left -= z.avail_out;
		}
		rc = inflate(&z, Z_NO_FLUSH);
	}
	out_left += z.avail_out;
	inflateEnd(&z);
	if (rc == Z_STREAM_END)
		return out_left ? wrong_length(out_len - out_left, out_len, err) : 0;
	if (rc == Z_BUF_ERROR && !out_left)
		return err_set(err, ERR_DATA, "it inflates to more than %zu bytes", out_len);
	if (rc == Z_MEM_ERROR)
		return err_set(err, ERR_MEMORY, "zlib: out of memory");
	return err_set(err, ERR_DATA, "damaged zlib stream");
}

static int zstd_bytes(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len,
		      struct err *err)
{
	size_t rc = ZSTD_decompress(out, out_len, in, in_len);

	if (ZSTD_isError(rc))
		return err_set(err, ERR_DATA, "damaged zstd stream: %s", ZSTD_getErrorName(rc));
	return rc == out_len ? 0 : wrong_length(rc, out_len, err);
}

int inflate_bytes(enum inflate_kind kind, const void *in, size_t in_len, uint64_t out_len,
		  uint8_t **ret_p, struct err *err)
{
	_cleanup_(freep) uint8_t *out = NULL;
	int rc;

	if (out_len > LIMIT_SECTION_LEN || out_len / LIMIT_INFLATE_RATIO > in_len)
		return err_set(err, ERR_LIMIT, "%zu bytes claim to inflate to %llu", in_len,
			       (unsigned long long)out_len);
	/* Pages that the stream does not fill are never touched. */
	out = malloc(out_len + PAD);
	if (!out)
		return err_set(err, ERR_MEMORY, "no memory to inflate to %llu bytes",
			       (unsigned long long)out_len);
	switch (kind) {
	case INFLATE_ZLIB:
		rc = zlib_bytes(in, in_len, out, out_len, err);
		break;
	case INFLATE_ZSTD:
		rc = zstd_bytes(in, in_len, out, out_len, err);
		break;
	default:
		return err_set(err, ERR_UNSUPPORTED, "unknown compression %d", (int)kind);
	}
	if (rc)
		return rc;
	memset(out + out_len, 0, PAD);
	*ret_p = TAKE_PTR(out);
	return 0;
}
