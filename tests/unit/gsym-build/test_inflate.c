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
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
