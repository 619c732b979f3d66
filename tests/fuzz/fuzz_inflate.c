/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zlib stream as sections have them, read in pieces whose length the first two bytes say. What it
 * gives is what zlib gives, or both refuse it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "inflate.h"

#define OUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* Bytes of the stream; SIZE_MAX: it is damaged, or longer. */
static size_t by_zlib(const uint8_t *p, size_t len, uint8_t *out)
{
	uLongf out_len = OUT_MAX, in_len = len;

	return uncompress2(out, &out_len, p, &in_len) == Z_OK ? out_len : SIZE_MAX;
}

/* Whether the stream gives exactly out_len bytes. */
static bool by_ours(const uint8_t *p, size_t len, size_t piece, uint8_t *out, size_t out_len)
{
	struct inflate_stream *s = NULL;
	int rc = inflate_stream_open(&s, INFLATE_ZLIB, p, len, out_len, NULL);

	for (size_t at = 0; !rc && at < out_len; at += piece)
		rc = inflate_stream_read(s, out + at, out_len - at < piece ? out_len - at : piece,
					 NULL);
	if (!rc)
		assert(inflate_stream_position(s) <= len);
	inflate_stream_free(s);
	return !rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *want = malloc(OUT_MAX), *got = malloc(OUT_MAX);
	size_t piece, out_len;

	if (!want || !got)
		abort();
	if (len > 2) {
		piece = 1 + (p[0] | (size_t)p[1] << 8);
		out_len = by_zlib(p + 2, len - 2, want);
		if (out_len != SIZE_MAX && out_len && out_len / 1100 <= len - 2) {
			bool ok = by_ours(p + 2, len - 2, piece, got, out_len);

			assert(ok && !memcmp(got, want, out_len));
			(void)ok;
		} else if (out_len == SIZE_MAX) {
			/* Its length is not known; it ends nowhere, so none can be right. */
			size_t guess = (len - 2) * 3;

			if (by_ours(p + 2, len - 2, piece, got, guess < OUT_MAX ? guess : OUT_MAX))
				abort();
		}
	}
	free(want);
	free(got);
	return 0;
}
