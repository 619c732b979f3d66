/* SPDX-License-Identifier: Apache-2.0 */
/* Names kept between requests: what comes back is what was kept, within a budget. */
#include "name_cache.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "id_map.h"

enum {
	CACHE_LEN = 1 << 20,
	ASKS = 100,
};

/* A text that tells its key, of 8 to 71 bytes. */
static size_t text_of(uint64_t number, uint32_t string, uint32_t kind, char text[static 128])
{
	int len = snprintf(text, 128, "%llu:%u:%u", (unsigned long long)number, string, kind);

	while (len < 8 + (int)(string % 64))
		text[len++] = '.';
	return (size_t)len;
}

/* Keeps or checks `count` strings from `first` on; how many were there. */
static size_t touch(struct name_cache *c, uint64_t number, uint32_t first, size_t count)
{
	_cleanup_(buf_done) struct buf to = BUF_INIT(1 << 20);
	struct name_ask asks[ASKS];
	size_t found = 0;
	char text[128];

	assert_in_range(count, 1, ASKS);
	for (size_t i = 0; i < count; i++)
		asks[i] = (struct name_ask){.string = first + (uint32_t)i, .kind = (first + i) % 4};
	assert_true(name_cache_get(c, number, asks, count, &to));
	for (size_t i = 0; i < count; i++) {
		size_t len = text_of(number, asks[i].string, asks[i].kind, text);

		if (!asks[i].found) {
			asks[i].off = (uint32_t)to.len;
			asks[i].len = (uint32_t)len;
			assert_true(buf_append(&to, text, len));
			continue;
		}
		found++;
		assert_int_equal(asks[i].len, len);
		assert_memory_equal(to.p + asks[i].off, text, len);
	}
	name_cache_put(c, number, asks, count, &to);
	return found;
}

static void test_kept(void **state _unused_)
{
	struct name_cache *c = name_cache_new(CACHE_LEN, NULL);

	assert_non_null(c);
	assert_int_equal(touch(c, 1, 0, ASKS), 0);
	assert_int_equal(touch(c, 1, 0, ASKS), ASKS);
	assert_int_equal(touch(c, 2, 0, ASKS), 0); /* another table */
	assert_int_equal(touch(c, 1, 50, ASKS), 50);
	assert_int_equal(touch(NULL, 1, 0, 3), 0);
	name_cache_free(c);
}

/* What is asked for again and again stays while ten times the budget goes by. */
static void test_bounded(void **state _unused_)
{
	struct name_cache *c = name_cache_new(CACHE_LEN, NULL);

	touch(c, 7, 0, ASKS);
	for (uint32_t i = 0; i < 1000; i++) {
		touch(c, 8, 1000 + i * ASKS, ASKS);
		if (i % 10 == 0)
			assert_int_equal(touch(c, 7, 0, ASKS), ASKS);
	}
	assert_int_equal(touch(c, 8, 1000, ASKS), 0);
	name_cache_free(c);
}

/* A text that is too long is not kept; one that does not fit the buffer ends the search. */
static void test_lengths(void **state _unused_)
{
	struct name_cache *c = name_cache_new(CACHE_LEN, NULL);
	_cleanup_(buf_done) struct buf big = BUF_INIT(CACHE_LEN), small = BUF_INIT(10);
	struct name_ask ask = {.string = 1, .kind = NAME_FULL, .len = CACHE_LEN / 2};

	assert_non_null(buf_extend(&big, CACHE_LEN / 2));
	name_cache_put(c, 1, &ask, 1, &big);
	assert_true(name_cache_get(c, 1, &ask, 1, &small));
	assert_false(ask.found);
	ask.len = 11;
	name_cache_put(c, 1, &ask, 1, &big);
	assert_false(name_cache_get(c, 1, &ask, 1, &small));
	assert_false(ask.found);
	name_cache_free(c);
}

static size_t hash_of(uint32_t i, uint32_t b)
{
	return id_map_hash((uint64_t)i << 32, b);
}

static void test_id_map(void **state _unused_)
{
	struct id_map m = ID_MAP_INIT(5000);
	bool is_new;

	for (int round = 0; round < 3; round++) {
		assert_null(id_map_find(&m, id_map_hash(0, 0), 0, 0));
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t *v = id_map_add(&m, hash_of(i, i % 3), (uint64_t)i << 32, i % 3,
						 &is_new);

			assert_non_null(v);
			assert_true(is_new);
			*v = i;
		}
		assert_null(id_map_add(&m, id_map_hash(1, 1), 1, 1, &is_new));
		for (uint32_t i = 0; i < 5000; i++) {
			assert_int_equal(
				*id_map_find(&m, hash_of(i, i % 3), (uint64_t)i << 32, i % 3), i);
			assert_null(id_map_find(&m, hash_of(i, 3), (uint64_t)i << 32, 3));
		}
		id_map_reset(&m);
	}
	id_map_done(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_id_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
