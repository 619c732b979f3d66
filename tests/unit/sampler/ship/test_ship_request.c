/* SPDX-License-Identifier: Apache-2.0 */
/* What the shipper asks a service, from a batch of the spool. */
#include "ship_request.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The segments of a module go with its id where the spool has them; else nothing does. */
static void test_request_segments(void **state _unused_)
{
	static const struct file_segment rows[] = {{0x1000, 0x401000, 0x800}, {0x2000, 0x5000, 1}};
	const struct spool_module modules[] = {
		{.id = {.kind = BUILD_ID_GNU, .len = 4}, .segments = rows, .segment_count = 2},
		{.id = {.kind = BUILD_ID_GNU, .len = 5}},
	};
	const struct location locations[] = {
		{.kind = LOCATION_FILE_OFF, .module = 0, .address = 0x1010},
		{.kind = LOCATION_FILE_OFF, .module = 1, .address = 0x1010},
		{.kind = LOCATION_FILE_OFF, .module = 0, .address = 0x1020},
	};
	const struct spool_batch b = {.modules = modules,
				      .module_count = ARRAY_LEN(modules),
				      .locations = locations,
				      .location_count = ARRAY_LEN(locations)};
	struct ship_wanted wanted;
	struct arena a = ARENA_INIT(MIB);
	struct ship_request r;
	struct err err;

	assert_int_equal(ship_wanted_list(&wanted, &b, &a, &err), 0);
	assert_int_equal(ship_request_make(&r, &b, 0, &wanted, &a, &err), 0);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.message->n_modules, 2);
	for (size_t i = 0; i < 2; i++) {
		const Rawstack__V1__Module *m = r.message->modules[i];
		const size_t want = i ? 0 : 2;

		assert_int_equal(m->n_segment_file_off, want);
		assert_int_equal(m->n_segment_vaddr, want);
		assert_int_equal(m->n_segment_len, want);
		for (size_t k = 0; k < want; k++) {
			assert_int_equal(m->segment_file_off[k], rows[k].file_off);
			assert_int_equal(m->segment_vaddr[k], rows[k].vaddr);
			assert_int_equal(m->segment_len[k], rows[k].len);
		}
	}
	arena_done(&a);
}

/* A sample counts once for each binary, however many of its frames lie in it, whichever of the rows
 * of the binary they name; places that nobody is asked about count for nothing. */
static void test_request_weights(void **state _unused_)
{
	const struct spool_module modules[] = {
		{.id = {.kind = BUILD_ID_GNU, .len = 4, .bytes = "deep"}},
		{.id = {.kind = BUILD_ID_GNU, .len = 4, .bytes = "libc"}},
		{.id = {.kind = BUILD_ID_GNU, .len = 4, .bytes = "deep"}, .path = 1},
		{.id = {.kind = BUILD_ID_NONE}},
	};
	const struct location locations[] = {
		{.kind = LOCATION_FILE_OFF, .module = 0, .address = 0x1010},
		{.kind = LOCATION_FILE_OFF, .module = 0, .address = 0x1020},
		{.kind = LOCATION_FILE_OFF, .module = 1, .address = 0x1010},
		{.kind = LOCATION_FILE_OFF, .module = 2, .address = 0x1030},
		{.kind = LOCATION_FILE_OFF, .module = 3, .address = 0x1010},
	};
	static const uint32_t recursion[] = {2, 0, 1, 1, 1, 3, 2, 4}, flat[] = {4, 3, 2};
	const struct spool_stack stacks[] = {{recursion, ARRAY_LEN(recursion), 0},
					     {flat, ARRAY_LEN(flat), 0}};
	const struct spool_sample samples[] = {
		{.stack = 0, .weight = 3}, {.stack = 1, .weight = 10}, {.stack = 0, .weight = 4}};
	const struct spool_batch b = {.modules = modules,
				      .module_count = ARRAY_LEN(modules),
				      .locations = locations,
				      .location_count = ARRAY_LEN(locations),
				      .stacks = stacks,
				      .stack_count = ARRAY_LEN(stacks),
				      .samples = samples,
				      .sample_count = ARRAY_LEN(samples)};
	static const uint64_t want[] = {7, 0, 17, 10, 0};
	struct arena a = ARENA_INIT(MIB);
	struct ship_wanted wanted;
	struct err err;

	assert_int_equal(ship_wanted_list(&wanted, &b, &a, &err), 0);
	assert_int_equal(wanted.count, 4);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(wanted.weights[i], want[i]);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_segments),
		cmocka_unit_test(test_request_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
