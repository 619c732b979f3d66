/* SPDX-License-Identifier: Apache-2.0 */
/* Records that perf compressed, made here with the same calls of zstd as perf makes. */
#include "perf_expand.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#define LEN_MAX (64 * MIB)

enum {
	SAMPLE = 9,
	ROUND = 68,
	SQUEEZED = 81,
	SQUEEZED2 = 83,
};

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void add_record(struct buf *out, uint32_t type, const void *body, size_t len)
{
	assert_true(len + 8 <= UINT16_MAX);
	buf_u32(out, type);
	buf_u16(out, 0);
	buf_u16(out, (uint16_t)(len + 8));
	buf_append(out, body, len);
}

/* The next piece of a stream, flushed as perf flushes it, in a record. */
static void add_piece(struct buf *out, ZSTD_CStream *z, uint32_t type, const uint8_t *p, size_t len)
{
	static const uint64_t padding;
	static uint8_t room[65536];
	ZSTD_inBuffer in = {p, len, 0};
	ZSTD_outBuffer piece = {room + 8, 60000, 0};
	uint64_t have;

	assert_false(ZSTD_isError(ZSTD_compressStream2(z, &piece, &in, ZSTD_e_flush)));
	assert_int_equal(in.pos, len);
	have = piece.pos;
	if (type == SQUEEZED) {
		add_record(out, type, room + 8, have);
		return;
	}
	memcpy(room, &have, sizeof(have));
	memcpy(room + 8 + have, &padding, sizeof(padding));
	add_record(out, type, room, (8 + have + 7) / 8 * 8);
}

/* `count` records of all lengths. */
static void make_records(struct buf *out, uint32_t count, size_t len_max)
{
	static uint8_t body[65536];
	uint32_t seed = 5;

	for (uint32_t i = 0; i < count; i++) {
		size_t len = draw(&seed) % len_max / 8 * 8;

		for (size_t k = 0; k < len; k++)
			body[k] = (uint8_t)(draw(&seed) % 7);
		add_record(out, draw(&seed) % 3 ? SAMPLE : 10, body, len);
	}
}

/* Whole records in the first `len` bytes. */
static size_t whole_until(const struct buf *records, size_t len)
{
	size_t at = 0;

	for (;;) {
		uint16_t n;

		if (len - at < 8)
			return at;
		memcpy(&n, records->p + at + 6, sizeof(n));
		if (n > len - at)
			return at;
		at += n;
	}
}

/* The records in pieces of any length, with perf's own between; `want` gets them as they were. */
static void squeeze(const struct buf *records, uint32_t type, struct buf *out, struct buf *want)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	uint32_t seed = type;
	size_t told = 0;

	for (size_t at = 0, n; at < records->len; at += n) {
		n = 1 + draw(&seed) % 20000;
		if (n > records->len - at)
			n = records->len - at;
		add_piece(out, z, type, records->p + at, n);
		if (draw(&seed) % 2 && at + n < records->len) {
			size_t whole = whole_until(records, at + n);

			add_record(out, ROUND, NULL, 0);
			buf_append(want, records->p + told, whole - told);
			add_record(want, ROUND, NULL, 0);
			told = whole;
		}
	}
	buf_append(want, records->p + told, records->len - told);
	ZSTD_freeCStream(z);
}

static void test_expand(void **state)
{
	static const uint32_t types[] = {SQUEEZED, SQUEEZED2};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		_cleanup_(buf_done) struct buf records = BUF_INIT(LEN_MAX), in = BUF_INIT(LEN_MAX),
					       want = BUF_INIT(LEN_MAX), out = BUF_INIT(LEN_MAX);
		struct err err;
		size_t lost;

		make_records(&records, 100, 300);
		make_records(&records, 30, 65500);
		squeeze(&records, types[i], &in, &want);
		assert_true(in.len < want.len);
		assert_true(perf_expand_is_needed(bytes_of(in.p, in.len)));
		assert_false(perf_expand_is_needed(bytes_of(want.p, want.len)));
		assert_int_equal(perf_expand(bytes_of(in.p, in.len), &out, &lost, &err), 0);
		assert_int_equal(lost, 0);
		assert_int_equal(out.len, want.len);
		assert_memory_equal(out.p, want.p, want.len);
	}
}

/* Cut anywhere, or with any byte changed: what comes before it counts, and something is said. */
static void test_damaged(void **state)
{
	_cleanup_(buf_done) struct buf records = BUF_INIT(MIB), in = BUF_INIT(MIB),
				       want = BUF_INIT(MIB);

	(void)state;
	make_records(&records, 200, 600);
	squeeze(&records, SQUEEZED2, &in, &want);
	for (size_t i = 1; i < in.len; i += 7) {
		_cleanup_(buf_done) struct buf cut = BUF_INIT(MIB), changed = BUF_INIT(MIB);
		size_t lost = 0;
		struct err err;

		assert_int_equal(perf_expand(bytes_of(in.p, i), &cut, &lost, &err), 0);
		assert_true(cut.len <= want.len);
		assert_memory_equal(cut.p ? cut.p : want.p, want.p, cut.len);
		in.p[i] ^= 0x55;
		err.code = 0;
		if (perf_expand(bytes_of(in.p, in.len), &changed, &lost, &err))
			assert_true(err.code < 0);
		in.p[i] ^= 0x55;
	}
}

static void test_bounded(void **state)
{
	_cleanup_(buf_done) struct buf records = BUF_INIT(LEN_MAX), in = BUF_INIT(LEN_MAX),
				       out = BUF_INIT(1000), much = BUF_INIT(GIB);
	ZSTD_CStream *z = ZSTD_createCStream();
	struct err err;
	size_t lost;

	(void)state;
	/* Equal records shrink to nothing. */
	for (size_t i = 0; i < 4 * MIB; i++)
		add_record(&records, SAMPLE, NULL, 0);
	add_piece(&in, z, SQUEEZED, records.p, records.len);
	ZSTD_freeCStream(z);
	assert_true(in.len * LIMIT_PERF_RATIO < records.len);
	assert_int_equal(perf_expand(bytes_of(in.p, in.len), &much, &lost, &err), ERR_LIMIT);
	assert_true(much.len <= in.len * LIMIT_PERF_RATIO + MIB);
	assert_int_equal(perf_expand(bytes_of(in.p, in.len), &out, &lost, &err), ERR_LIMIT);
}

/* What says to be compressed inside of what is compressed, and what is no record. */
static void test_foreign(void **state)
{
	static const struct {
		uint32_t type;
		uint16_t len;
	} cases[] = {{SQUEEZED, 16}, {ROUND, 8}, {SAMPLE, 0}, {SAMPLE, 7}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(buf_done) struct buf records = BUF_INIT(MIB), in = BUF_INIT(MIB),
					       out = BUF_INIT(MIB);
		ZSTD_CStream *z = ZSTD_createCStream();
		struct err err;
		size_t lost;

		add_record(&records, SAMPLE, "12345678", 8);
		buf_u32(&records, cases[i].type);
		buf_u16(&records, 0);
		buf_u16(&records, cases[i].len);
		buf_u64(&records, 0);
		add_piece(&in, z, SQUEEZED, records.p, records.len);
		ZSTD_freeCStream(z);
		assert_int_equal(perf_expand(bytes_of(in.p, in.len), &out, &lost, &err), 0);
		assert_int_equal(out.len, 16);
		assert_true(lost > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
