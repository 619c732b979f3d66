/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a package of split units, good and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "buf.h"
#include "die_dwp.h"

#define ID_A UINT64_C(0x0000000100000002) /* slot 2 */
#define ID_B UINT64_C(0x0000000300000006) /* slot 2 too, of 4; a step of 3 leads to slot 1 */
#define ID_C UINT64_C(0x0000000100000003) /* nobody's */

/* Two units in four slots; the columns are .debug_info.dwo and the one numbered 8. */
static void put_index(struct buf *b, uint32_t version, uint32_t slots, uint32_t row_b)
{
	static const uint64_t hashes[] = {0, ID_B, ID_A, 0};
	const uint32_t rows[] = {0, row_b, 1, 0};
	/* Columns, then offsets and lengths of both units. */
	static const uint32_t rest[] = {1, 8, 0x10, 0x20, 0x30, 0x40, 1, 2, 3, 4};

	buf_u32(b, version);
	buf_u32(b, 2);
	buf_u32(b, 2);
	buf_u32(b, slots);
	buf_append(b, hashes, sizeof(hashes));
	buf_append(b, rows, sizeof(rows));
	buf_append(b, rest, sizeof(rest));
}

static void test_find(void **state _unused_)
{
	_cleanup_(buf_done) struct buf v5 = BUF_INIT(4096), v2 = BUF_INIT(4096);
	struct dwp_index x;
	struct dwp_row row;

	put_index(&v5, 5, 4, 2);
	assert_int_equal(dwp_index_open(&x, v5.p, v5.len, NULL), 0);
	assert_int_equal(dwp_index_find(&x, ID_A, &row), 1);
	assert_int_equal(row.off[DWP_INFO], 0x10);
	assert_int_equal(row.len[DWP_INFO], 1);
	assert_int_equal(row.off[DWP_RNGLISTS], 0x20);
	assert_int_equal(row.len[DWP_ABBREV], 0);
	assert_int_equal(dwp_index_find(&x, ID_B, &row), 1);
	assert_int_equal(row.off[DWP_INFO], 0x30);
	assert_int_equal(row.len[DWP_RNGLISTS], 4);
	assert_int_equal(dwp_index_find(&x, ID_C, &row), 0);
	/* Before DWARF 5, number 8 is not of range lists. */
	put_index(&v2, 2, 4, 2);
	assert_int_equal(dwp_index_open(&x, v2.p, v2.len, NULL), 0);
	assert_int_equal(dwp_index_find(&x, ID_A, &row), 1);
	assert_int_equal(row.off[DWP_INFO], 0x10);
	assert_int_equal(row.len[DWP_RNGLISTS], 0);
	x = (struct dwp_index){0};
	assert_int_equal(dwp_index_find(&x, 0, &row), 0);
}

static void refused(uint32_t version, uint32_t slots, int code)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(4096);
	struct err err = {0};
	struct dwp_index x;

	put_index(&b, version, slots, 2);
	assert_int_equal(dwp_index_open(&x, b.p, b.len, &err), code);
	assert_int_equal(x.slot_count, 0);
}

static void test_refused(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(4096);
	struct dwp_index x;
	struct dwp_row row;

	refused(3, 4, ERR_UNSUPPORTED);
	refused(5, 3, ERR_DATA);
	refused(5, UINT32_MAX, ERR_DATA);
	refused(5, UINT32_C(1) << 31, ERR_DATA);
	/* A row beyond the units. */
	put_index(&b, 5, 4, 3);
	assert_int_equal(dwp_index_open(&x, b.p, b.len, NULL), 0);
	assert_int_equal(dwp_index_find(&x, ID_B, &row), 0);
	assert_int_equal(dwp_index_find(&x, ID_A, &row), 1);
}

/* A table without a free slot: nothing ends a search in it, and libdwarf's reader has it refused
 * too. */
static void test_full(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(4096);
	struct dwp_index x;
	struct err err;

	buf_u32(&b, 5);
	buf_u32(&b, 0);
	buf_u32(&b, 1);
	buf_u32(&b, 2);
	buf_u64(&b, ID_A);
	buf_u64(&b, ID_B);
	buf_u32(&b, 1);
	buf_u32(&b, 1);
	assert_int_equal(dwp_index_open(&x, b.p, b.len, &err), ERR_DATA);
	assert_string_equal(err.message, ".debug_cu_index has no free slot");
	assert_int_equal(x.slot_count, 0);
}

/* Every cut is refused, and no changed byte leads out of the index: sanitizers watch. */
static void test_every_byte(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(4096);
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct dwp_index x;
	struct dwp_row row;
	struct err err;

	put_index(&b, 5, 4, 2);
	for (size_t len = 0; len < b.len; len++) {
		_cleanup_(freep) uint8_t *cut = malloc(len + 1);

		if (len)
			memcpy(cut, b.p, len);
		if (dwp_index_open(&x, cut, len, &err) == 0)
			fail_msg("%zu of %zu bytes are an index", len, b.len);
	}
	for (size_t i = 0; i < b.len; i++) {
		uint8_t good = b.p[i];

		for (size_t j = 0; j < ARRAY_LEN(values); j++) {
			b.p[i] = values[j];
			if (dwp_index_open(&x, b.p, b.len, &err))
				continue;
			dwp_index_find(&x, ID_A, &row);
			dwp_index_find(&x, ID_B, &row);
			dwp_index_find(&x, ID_C, &row);
		}
		b.p[i] = good;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
