/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the examples of FIPS 180-4, in one piece and in many. */
#include "digest.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"

static void assert_sum(const uint8_t sum[DIGEST_LEN], const char *want)
{
	char hex[2 * DIGEST_LEN + 1];

	for (int i = 0; i < DIGEST_LEN; i++)
		snprintf(hex + (size_t)(2 * i), 3, "%02x", sum[i]);
	assert_string_equal(hex, want);
}

static void test_vectors(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	};
	uint8_t sum[DIGEST_LEN];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		digest_sha256(rows[i].text, strlen(rows[i].text), sum);
		assert_sum(sum, rows[i].want);
	}
}

static void test_stream(void **state _unused_)
{
	uint8_t sum[DIGEST_LEN];
	struct digest d;

	digest_init(&d);
	for (int round = 0; round < 2; round++) { /* finish starts it anew */
		for (int i = 0; i < 1000000; i += 1000) {
			char chunk[1000];

			memset(chunk, 'a', sizeof(chunk));
			digest_update(&d, chunk, sizeof(chunk));
		}
		digest_finish(&d, sum);
		assert_sum(sum, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
