/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of a libcrypto that is loaded at the first call, against an example of FIPS 180-4. */
#include "digest.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "io.h"

static bool is_loaded(void)
{
	_cleanup_(freep) uint8_t *maps = NULL;
	size_t len;

	assert_int_equal(io_read_file("/proc/self/maps", 1 << 20, &maps, &len, NULL), 0);
	return memmem(maps, len, "libcrypto", 9);
}

static void test_vector(void **state _unused_)
{
	static const uint8_t want[DIGEST_LEN] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
		0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
		0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	uint8_t sum[DIGEST_LEN];

	assert_false(is_loaded());
	for (int i = 0; i < 2; i++) {
		memset(sum, 0, sizeof(sum));
		assert_int_equal(digest_sha256("abc", 3, sum, NULL), 0);
		assert_memory_equal(sum, want, sizeof(sum));
	}
	assert_true(is_loaded());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
