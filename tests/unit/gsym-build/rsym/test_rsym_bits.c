/* SPDX-License-Identifier: Apache-2.0 */
/* Packed numbers against the plainest way to count bits. Built twice: as it is, and for processors
 * with BMI2. */
#include "rsym_bits.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "test_rsym_random.h"

static void test_put_and_get(void **state _unused_)
{
	for (uint64_t seed = 1; seed < 50; seed++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);
		struct bits_out bits = {.out = &out};
		uint64_t values[500], at = 0;
		unsigned int widths[500];
		uint64_t rng = seed;

		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			widths[i] = (unsigned int)random_below(&rng, 65);
			values[i] = random_next(&rng);
			if (widths[i] < 64)
				values[i] = bits_low(values[i], widths[i]);
			bits_put(&bits, values[i], widths[i]);
			at += widths[i];
		}
		bits_flush(&bits);
		assert_int_equal(out.len, (at + 7) / 8);
		assert_true(buf_append(&out, "0123456789abcdef", 16));
		at = 0;
		for (size_t i = 0; i < ARRAY_LEN(values); at += widths[i++]) {
			uint64_t word = bits_word(out.p, at);

			if (widths[i] <= 57)
				assert_true(bits_get(out.p, at, widths[i]) == values[i]);
			assert_true((widths[i] < 64 ? bits_low(word, widths[i]) : word) ==
				    values[i]);
		}
	}
}

static void test_len(void **state _unused_)
{
	assert_int_equal(bits_len(0), 0);
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(bits_len(UINT64_C(1) << i), i + 1);
		assert_int_equal(bits_len((UINT64_C(2) << i) - 1), i + 1);
	}
}

static void test_count_and_select(void **state _unused_)
{
	uint64_t rng = 7;
	struct bits_tally t;

	for (int round = 0; round < 2000; round++) {
		uint64_t v = random_next(&rng);
		unsigned int count = 0;

		if (round % 3 == 1)
			v &= random_next(&rng) & random_next(&rng);
		if (round % 3 == 2)
			v = ~(v & random_next(&rng) & random_next(&rng));
		t = bits_tally(v);
		for (unsigned int i = 0; i < 64; i++)
			if (v >> i & 1)
				assert_int_equal(bits_tally_select(&t, count++), i);
		assert_int_equal(bits_tally_count(&t), count);
		assert_int_equal(bits_count(v), count);
	}
	assert_int_equal(bits_count(0), 0);
	t = bits_tally(UINT64_MAX);
	assert_int_equal(bits_tally_select(&t, 63), 63);
}

static void test_count_range(void **state _unused_)
{
	uint8_t bytes[64 + 16];
	uint64_t rng = 3;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random_next(&rng);
	for (uint64_t at = 0; at < 100; at++) {
		unsigned int want = 0;

		for (unsigned int n = 0; n < 300; n++) {
			assert_int_equal(bits_count_range(bytes, at, n), want);
			want += bytes[(at + n) / 8] >> (at + n) % 8 & 1;
		}
	}
}

/* Every width, every count that fits, against one after the other. */
static void test_rank(void **state _unused_)
{
	uint64_t rng = 11;

	for (unsigned int round = 0; round < 40; round++) {
		for (unsigned int l = 1; l < 32; l++) {
			uint8_t bytes[16 + 8] = {0};
			uint32_t values[57], max = (uint32_t)bits_low(UINT64_MAX, l);
			unsigned int fit = 57 / l, at = round % 8, want = 0;
			uint64_t word = 0, most;

			for (unsigned int i = 0; i < fit; i++) {
				uint32_t before = i ? values[i - 1] : 0;

				values[i] = before + (uint32_t)random_next(&rng) % (max / fit + 2);
				values[i] = values[i] < before || values[i] > max ? max : values[i];
				word |= (uint64_t)values[i] << i * l;
			}
			for (unsigned int i = 0; i < sizeof(bytes); i++)
				bytes[i] = (uint8_t)random_next(&rng); /* must not count */
			for (unsigned int i = 0; i < fit * l; i++) {
				uint8_t *byte = &bytes[(at + i) / 8], bit = 1 << (at + i) % 8;

				*byte = word >> i & 1 ? *byte | bit : *byte & ~bit;
			}
			most = random_next(&rng) & max;
			for (unsigned int n = 0; n <= fit; n++) {
				assert_int_equal(bits_rank(bytes, at, l, n, (uint32_t)most), want);
				want += n < fit && values[n] <= most;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_get),
		cmocka_unit_test(test_len),
		cmocka_unit_test(test_count_and_select),
		cmocka_unit_test(test_count_range),
		cmocka_unit_test(test_rank),
	};

#ifdef __BMI2__
	if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("avx2")) {
		puts("SKIP: this processor has no BMI2");
		return 77;
	}
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
