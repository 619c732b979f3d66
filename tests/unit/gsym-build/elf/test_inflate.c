/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression: right, cut, too long, too short, and bombs. */
#include "inflate.h"

#include <setjmp.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#define TEXT "the quick brown fox jumps over the lazy dog, twice: the quick brown fox jumps"

static void check(enum inflate_kind kind, const uint8_t *in, size_t in_len)
{
	uint8_t *p = NULL;
	struct err err;

	assert_int_equal(inflate_bytes(kind, in, in_len, sizeof(TEXT), &p, NULL), 0);
	assert_memory_equal(p, TEXT, sizeof(TEXT));
	free(p);
	assert_int_equal(inflate_bytes(kind, in, in_len, sizeof(TEXT) - 1, &p, NULL), ERR_DATA);
	assert_int_equal(inflate_bytes(kind, in, in_len, sizeof(TEXT) + 1, &p, NULL), ERR_DATA);
	for (size_t cut = 0; cut < in_len; cut++) {
		_cleanup_(freep) uint8_t *copy = malloc(cut ? cut : 1);

		memcpy(copy, in, cut);
		assert_true(inflate_bytes(kind, copy, cut, sizeof(TEXT), &p, &err) < 0);
	}
	assert_int_equal(inflate_bytes(kind, in, in_len, UINT64_MAX, &p, NULL), ERR_LIMIT);
	assert_int_equal(inflate_bytes(kind, in, in_len, 2000 * in_len, &p, NULL), ERR_LIMIT);
}

static void test_zlib(void **state _unused_)
{
	uint8_t packed[256];
	uLongf len = sizeof(packed);

	assert_int_equal(compress(packed, &len, (const Bytef *)TEXT, sizeof(TEXT)), Z_OK);
	check(INFLATE_ZLIB, packed, len);
}

/* Text that compresses some, from a fixed seed. */
static uint8_t *make_text(size_t len)
{
	uint8_t *p = malloc(len);
	uint32_t seed = 1;

	assert_non_null(p);
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = i > 40000 && seed >> 29 ? p[i - 1 - (seed >> 8) % 40000]
					       : (uint8_t)(seed >> 24);
	}
	return p;
}

/* Pieces that end at, before and behind the library's own buffers. */
static void test_pieces(void **state _unused_)
{
	static const size_t pieces[] = {1, 4095, 32768, 65537, 1 << 20};
	const size_t len = 700001;
	_cleanup_(freep) uint8_t *text = make_text(len), *got = malloc(len);
	uLongf packed_len = compressBound(len);
	_cleanup_(freep) uint8_t *packed = malloc(packed_len);

	for (int level = 0; level <= 9; level += 3) {
		packed_len = compressBound(len);
		assert_int_equal(compress2(packed, &packed_len, text, len, level), Z_OK);
		for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
			_cleanup_(inflate_stream_freep) struct inflate_stream *s = NULL;

			memset(got, 0, len);
			assert_int_equal(inflate_stream_open(&s, INFLATE_ZLIB, packed, packed_len,
							     len, NULL),
					 0);
			for (size_t at = 0; at < len; at += pieces[i])
				assert_int_equal(
					inflate_stream_read(
						s, got + at,
						len - at < pieces[i] ? len - at : pieces[i], NULL),
					0);
			assert_memory_equal(got, text, len);
			assert_int_equal(inflate_stream_position(s), packed_len);
		}
	}
}

static void test_checksum(void **state _unused_)
{
	uint8_t packed[256], *p;
	uLongf len = sizeof(packed);

	assert_int_equal(compress(packed, &len, (const Bytef *)TEXT, sizeof(TEXT)), Z_OK);
	for (size_t i = len - 4; i < len; i++) {
		packed[i] ^= 1;
		assert_int_equal(inflate_bytes(INFLATE_ZLIB, packed, len, sizeof(TEXT), &p, NULL),
				 ERR_DATA);
		packed[i] ^= 1;
	}
	packed[1] ^= 32 | 31; /* a stream that asks for a dictionary: nobody has one */
	assert_int_equal(inflate_bytes(INFLATE_ZLIB, packed, len, sizeof(TEXT), &p, NULL),
			 ERR_DATA);
}

static void test_zstd(void **state _unused_)
{
	uint8_t packed[256];
	size_t len = ZSTD_compress(packed, sizeof(packed), TEXT, sizeof(TEXT), 3);

	assert_false(ZSTD_isError(len));
	check(INFLATE_ZSTD, packed, len);
}

static void test_unknown(void **state _unused_)
{
	uint8_t *p;

	assert_int_equal(inflate_bytes((enum inflate_kind)9, "x", 1, 1, &p, NULL), ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zlib),     cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_checksum), cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
