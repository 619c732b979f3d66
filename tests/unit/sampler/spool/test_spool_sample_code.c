/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as bytes: what FORMAT.md says of them, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spool_sample_code.h"

#define UNIT UINT64_C(1000)

static size_t encode(struct spool_guess *g, const struct spool_sample *s, uint8_t *to)
{
	return (size_t)(spool_sample_encode(g, s, to) - to);
}

/* The example of FORMAT.md, byte for byte. */
static void test_golden(void **state _unused_)
{
	static const struct spool_sample samples[] = {
		{.time_ns = 5000 * UNIT + 999, .stack = 3, .weight = 1},
		{.time_ns = 5400 * UNIT, .cpu = 1, .thread = 1, .stack = 4, .weight = 1},
		{.time_ns = 6003 * UNIT, .stack = 3, .weight = 1},
		{.time_ns = 6385 * UNIT, .cpu = 1, .thread = 1, .stack = 4, .weight = 1},
		{.time_ns = 6384 * UNIT, .thread = 200, .stack = 130, .weight = 2},
	};
	static const uint8_t want[] = {
		0x87, 3,                        /* all as expected: CPU 0, thread 0, no time */
		0x04, 4,    1, 1,   0x90, 0x03, /* CPU 1, thread 1, 400 late */
		0x9f, 3,                        /* 3 late */
		0x0f, 4,                        /* 15 early */
		0x01, 130,  1, 200, 1,    2,    /* thread, weight, */
		0x95, 0x7b,                     /* 619 early */
	};
	static struct spool_guess g;
	uint8_t got[ARRAY_LEN(samples) * SPOOL_SAMPLE_MAX], *end = got;

	spool_guess_begin(&g, 5000, 1000);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		end = spool_sample_encode(&g, &samples[i], end);
	assert_int_equal(end - got, sizeof(want));
	assert_memory_equal(got, want, sizeof(want));
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return *seed >> 33;
}

/* Anything that there can be, in records that begin anew; times come back in whole units. */
static void test_round_trip(void **state _unused_)
{
	static struct spool_guess out, in;
	enum {
		COUNT = 2000
	};
	static struct spool_sample samples[COUNT];
	static uint8_t bytes[COUNT * SPOOL_SAMPLE_MAX];
	uint64_t seed = 5, most = 0;

	for (int round = 0; round < 20; round++) {
		const uint32_t cpus = round % 4 ? 1 + 40 * (uint32_t)round : UINT32_MAX,
			       step = round % 3   ? 1001
				      : round % 2 ? UINT32_MAX
						  : 0;
		uint64_t time = round == 7 ? UINT64_MAX / 2 : 12345678;
		uint8_t *end = bytes;
		struct bytes left;

		spool_guess_begin(&out, time / UNIT, step);
		for (size_t i = 0; i < COUNT; i++) {
			uint64_t what = next_random(&seed);
			uint8_t *start = end;

			/* Mostly on, sometimes back, rarely far away. */
			time += what % 100 ? next_random(&seed) % 2000000 - 100000
					   : next_random(&seed) << 33;
			samples[i] = (struct spool_sample){
				.time_ns = time,
				.thread = (uint32_t)(what % 7 ? i / 100 : next_random(&seed) << 1),
				.stack = (uint32_t)(what % 11 ? what % 300 : UINT32_MAX - i),
				.cpu = (uint32_t)(what % 5 ? i : next_random(&seed)) % cpus,
				.weight = what % 13 ? 1 : (uint32_t)next_random(&seed) + 1,
			};
			end = spool_sample_encode(&out, &samples[i], end);
			most = (uint64_t)(end - start) > most ? (uint64_t)(end - start) : most;
		}
		left = bytes_of(bytes, (size_t)(end - bytes));
		spool_guess_begin(&in, 12345678 / UNIT, step);
		if (round == 7)
			spool_guess_begin(&in, UINT64_MAX / 2 / UNIT, step);
		for (size_t i = 0; i < COUNT; i++) {
			struct spool_sample got;

			assert_true(spool_sample_decode(&in, &left, &got));
			assert_int_equal(got.time_ns, samples[i].time_ns / UNIT * UNIT);
			assert_int_equal(got.thread, samples[i].thread);
			assert_int_equal(got.stack, samples[i].stack);
			assert_int_equal(got.cpu, samples[i].cpu);
			assert_int_equal(got.weight, samples[i].weight);
		}
		assert_int_equal(left.left, 0);
	}
	assert_in_range(most, 20, SPOOL_SAMPLE_MAX);
}

/* What it is for: CPUs that are busy, with a clock that is not quite exact, take two bytes. */
static void test_steady(void **state _unused_)
{
	static struct spool_guess g;
	uint8_t bytes[SPOOL_SAMPLE_MAX];
	size_t len = 0;

	spool_guess_begin(&g, 0, 10101);
	for (uint32_t i = 0; i < 64000; i++) {
		const struct spool_sample s = {
			.time_ns = (i / 64 * 10101 + i % 64 * 150 + i % 7 * 2) * UNIT,
			.cpu = i % 64,
			.thread = i % 64,
			.stack = i % 100,
			.weight = 1,
		};

		len += encode(&g, &s, bytes);
	}
	assert_in_range(len, 2 * 64000, 2 * 64000 + 64 * 6);
}

static bool is_sample(const void *p, size_t len)
{
	static struct spool_guess g;
	struct bytes in = bytes_of(p, len);
	struct spool_sample s;

	spool_guess_begin(&g, 1, 1);
	return spool_sample_decode(&g, &in, &s);
}

static void test_no_samples(void **state _unused_)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool is_one;
	} rows[] = {
		{"", 0, false},
		{"\x87", 1, false}, /* no stack */
		{"\x87\x01", 2, true},
		{"\x87\xff\xff\xff\xff\x0f", 6, true},
		{"\x87\x80\x80\x80\x80\x10", 6, false}, /* a stack of more than 32 bits */
		{"\x86\x01\x80\x80\x80\x80\x10", 7, false},
		{"\x86\x01\xff\xff\xff\xff\x0f", 7, true},
		{"\x85\x01\x80\x80\x80\x80\x10", 7, false},
		{"\x83\x01\x80\x80\x80\x80\x10", 7, false},
		{"\x83\x01\x00", 3, false}, /* of no weight */
		{"\x07\x01", 2, false},     /* no time */
		{"\x07\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 12, true},
		{"\x07\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 13, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_sample(rows[i].bytes, rows[i].len) != rows[i].is_one)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
