/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen is found again, nothing else is, and a new segment forgets all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"
#include "sample_cache.h"

static struct sample_cache cache;

static struct event sample(const uint64_t *pcs, uint16_t count)
{
	struct event e = {.pid = 7, .tid = 8, .kind = EVENT_SAMPLE, .data = pcs};

	e.data_len = count * sizeof(*pcs);
	e.sample.user_count = count;
	e.sample.syscall = -1;
	e.sample.stack_id = intern_digest(pcs, e.data_len);
	strcpy(e.sample.comm, "name");
	return e;
}

static void test_stacks(void **state _unused_)
{
	const struct sample_context ctx = {.maps_version = 1}, other = {.maps_version = 2};
	const struct placed_stack row = {.stack = 5, .user_frames = 3, .unresolved = 1};
	const uint64_t pcs[] = {1, 2, 3}, changed[] = {1, 2, 4};
	struct event e = sample(pcs, 3), f;

	sample_cache_init(&cache);
	sample_cache_begin(&cache, 1);
	assert_null(sample_cache_stack(&cache, &e, &ctx));
	sample_cache_add_stack(&cache, &e, &ctx, &row);
	assert_memory_equal(sample_cache_stack(&cache, &e, &ctx), &row, sizeof(row));
	/* Time, thread and CPU do not matter; everything that places a frame does. */
	f = e;
	f.time_ns = 1000;
	f.tid = 9;
	f.sample.cpu = 1;
	assert_non_null(sample_cache_stack(&cache, &f, &ctx));
	assert_null(sample_cache_stack(&cache, &e, &other));
	f = sample(changed, 3);
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = sample(pcs, 2);
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = e;
	f.sample.syscall = 0; /* the user leaf below it is a return address */
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = e;
	f.sample.user_count = 2;
	f.sample.kernel_count = 1;
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	sample_cache_begin(&cache, 1);
	assert_non_null(sample_cache_stack(&cache, &e, &ctx));
	sample_cache_begin(&cache, 2);
	assert_null(sample_cache_stack(&cache, &e, &ctx));
	sample_cache_done(&cache);
}

/* Of those with an id the addresses are not looked at, and the same things matter. */
static void test_ids(void **state _unused_)
{
	const struct sample_context ctx = {.maps_version = 1}, other = {.maps_version = 2};
	const struct sample_context in_exec = {.maps_version = 1, .in_exec = 1};
	const uint64_t pcs[] = {1, 2, 3};
	struct event e = sample(pcs, 3), f;

	sample_cache_init(&cache);
	sample_cache_begin(&cache, 1);
	e.sample.stack_id = 77;
	assert_null(sample_cache_stack(&cache, &e, &ctx));
	/* More than there is room for: what is found is its own. */
	for (uint32_t i = 0; i < 20000; i++) {
		const struct placed_stack row = {.stack = i, .user_frames = 2 * i};

		e.sample.stack_id = 1 + i * UINT64_C(0x123456789abcdef1);
		sample_cache_add_stack(&cache, &e, &ctx, &row);
		assert_memory_equal(sample_cache_stack(&cache, &e, &ctx), &row, sizeof(row));
	}
	for (uint32_t i = 0; i < 20000; i++) {
		const struct placed_stack *row;

		f = e;
		f.sample.stack_id = 1 + i * UINT64_C(0x123456789abcdef1);
		row = sample_cache_stack(&cache, &f, &ctx);
		if (row)
			assert_int_equal(row->stack, i);
	}
	assert_non_null(sample_cache_stack(&cache, &e, &ctx));
	assert_null(sample_cache_stack(&cache, &e, &other));
	assert_null(sample_cache_stack(&cache, &e, &in_exec));
	f = e;
	f.sample.syscall = 0;
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = e;
	f.sample.flags = SAMPLE_KERNEL_THREAD;
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = e;
	f.sample.kernel_err = -1;
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	f = e;
	f.sample.stack_id = 0;
	assert_null(sample_cache_stack(&cache, &f, &ctx));
	sample_cache_begin(&cache, 2);
	assert_null(sample_cache_stack(&cache, &e, &ctx));
	sample_cache_done(&cache);
}

static void test_threads(void **state _unused_)
{
	const struct sample_context ctx = {.maps_version = 1};
	const uint64_t pc = 1;
	struct event e = sample(&pc, 1), f = e;

	sample_cache_init(&cache);
	sample_cache_begin(&cache, 1);
	sample_cache_add_thread(&cache, &e, &ctx, 4);
	assert_int_equal(sample_cache_thread(&cache, &e, &ctx), 4);
	strcpy(f.sample.comm, "renamed");
	assert_int_equal(sample_cache_thread(&cache, &f, &ctx), INTERN_FULL);
	f = e;
	f.sample.start_ns = 1; /* another process with that pid */
	assert_int_equal(sample_cache_thread(&cache, &f, &ctx), INTERN_FULL);
	f = e;
	f.sample.state = 1;
	assert_int_equal(sample_cache_thread(&cache, &f, &ctx), INTERN_FULL);
	/* Several take turns on a CPU. */
	sample_cache_add_thread(&cache, &f, &ctx, 5);
	for (int i = 0; i < 4; i++) {
		f.sample.cpu = e.sample.cpu = (uint32_t)i * 4;
		assert_int_equal(sample_cache_thread(&cache, &e, &ctx), 4);
		assert_int_equal(sample_cache_thread(&cache, &f, &ctx), 5);
		assert_int_equal(sample_cache_thread(&cache, &f, &ctx), 5);
	}
	sample_cache_begin(&cache, 2);
	assert_int_equal(sample_cache_thread(&cache, &f, &ctx), INTERN_FULL);
	sample_cache_done(&cache);
}

static void test_frames(void **state _unused_)
{
	sample_cache_init(&cache);
	sample_cache_begin(&cache, 1);
	assert_int_equal(sample_cache_frame(&cache, 1, 100, 0)->location, LOCATION_NO_INDEX);
	sample_cache_frame(&cache, 1, 100, 0)->location = 3;
	assert_int_equal(sample_cache_frame(&cache, 1, 100, 0)->location, 3);
	assert_int_equal(sample_cache_frame(&cache, 2, 100, 0)->location, LOCATION_NO_INDEX);
	sample_cache_frame(&cache, 1, 100, 0)->location = 3;
	assert_int_equal(sample_cache_frame(&cache, 1, 100, 1)->location, LOCATION_NO_INDEX);
	sample_cache_done(&cache);
}

/* More than it holds: it goes on, and what it says is right. */
static void test_ceiling(void **state _unused_)
{
	const struct sample_context ctx = {.maps_version = 1};

	sample_cache_init(&cache);
	sample_cache_begin(&cache, 1);
	for (uint64_t pc = 0; pc < 20000; pc++) {
		const struct placed_stack row = {.stack = (uint32_t)pc};
		struct event e = sample(&pc, 1);
		const struct placed_stack *found;

		sample_cache_add_stack(&cache, &e, &ctx, &row);
		found = sample_cache_stack(&cache, &e, &ctx);
		assert_true(!found || found->stack == pc);
		e.tid = (uint32_t)pc;
		sample_cache_add_thread(&cache, &e, &ctx, (uint32_t)pc);
	}
	assert_in_range(cache.stack_bits, PLACED_STACK_BITS_MIN, PLACED_STACK_BITS_MAX);
	assert_true(cache.thread_keys.count <= LIMIT_STORED_THREADS);
	sample_cache_done(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),  cmocka_unit_test(test_ids),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_frames),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
