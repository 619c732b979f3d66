/* SPDX-License-Identifier: Apache-2.0 */
/* What requests leave behind goes when nobody needs it any more, and not before. */
#include <unistd.h>

#include "name_cache.h"
#include "service_fixture.h"

static void test_pool(void **state _unused_)
{
	struct symbolize_pool *p = symbolize_pool_new(MIB, NULL);
	struct symbolize *both[2];

	assert_non_null(p);
	for (int i = 0; i < 2; i++) {
		both[i] = symbolize_pool_get(p, NULL);
		assert_non_null(both[i]);
	}
	symbolize_pool_put(p, both[0]);
	symbolize_pool_put(p, both[1]);
	symbolize_pool_age(p);
	assert_int_equal(symbolize_pool_memory(p), 2 * symbolize_memory(both[0]));
	/* One is in use now and then, the other not. */
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(symbolize_pool_get(p, NULL), both[1]);
		symbolize_pool_put(p, both[1]);
		symbolize_pool_age(p);
		assert_int_equal(symbolize_pool_memory(p), symbolize_memory(both[1]));
	}
	symbolize_pool_age(p);
	assert_int_equal(symbolize_pool_memory(p), 0);
	assert_int_equal(symbolize_pool_uses(p), 5);
	symbolize_pool_free(p);
}

/* Whether a name is there. */
static bool ask(struct name_cache *c, uint32_t string)
{
	_cleanup_(buf_done) struct buf to = BUF_INIT(1024);
	struct name_ask a = {.string = string};

	assert_true(name_cache_get(c, 1, &a, 1, &to));
	return a.found;
}

static void keep_name(struct name_cache *c, uint32_t string)
{
	_cleanup_(buf_done) struct buf from = BUF_INIT(1024);
	struct name_ask a = {.string = string, .len = 4};

	assert_true(buf_append(&from, "name", 4));
	name_cache_put(c, 1, &a, 1, &from);
}

static void test_names(void **state _unused_)
{
	struct name_cache *c = name_cache_new(MIB, NULL);

	assert_non_null(c);
	keep_name(c, 1);
	keep_name(c, 2);
	for (int i = 0; i < 3; i++) {
		name_cache_age(c);
		assert_true(ask(c, 1));
	}
	assert_false(ask(c, 2));
	assert_true(name_cache_memory(c) > 0);
	name_cache_age(c);
	name_cache_age(c);
	assert_int_equal(name_cache_memory(c), 0);
	assert_false(ask(c, 1));
	name_cache_free(c);
}

/* A service by itself: the keeper sees to it. Ends when nothing is left, or by the test's limit. */
static void test_service(void **state _unused_)
{
	Rawstack__V1__StackBatch batch = RAWSTACK__V1__STACK_BATCH__INIT;
	struct service *s = open_with(&(struct service_config){
		.data_dir = ".", .memory_store = true, .store_bytes = MIB, .maintain_seconds = 1});
	struct symbolize *work[4];
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(work); i++)
		assert_int_equal(service_symbolize(s, &batch, NULL, &work[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(work); i++)
		service_symbolize_done(s, work[i]);
	keep_name(s->names, 1);
	while (service_kept_memory(s))
		usleep(10000);
	/* It answers as before. */
	assert_int_equal(service_symbolize(s, &batch, NULL, &work[0], &err), 0);
	service_symbolize_done(s, work[0]);
	service_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_service),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
