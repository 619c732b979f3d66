/* SPDX-License-Identifier: Apache-2.0 */
/* What clients have of the list of missing ids: equal shares, on both engines. */
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "limits.h"
#include "store_fixture.h"

/* The weight of id n; 0 when it is not missing. */
static uint64_t weight_of(struct store *s, uint32_t n)
{
	struct build_id id = id_of(n);
	struct store_missing m;
	struct store_read *r;
	int rc;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	rc = store_missing_get(r, &id, &m, NULL);
	store_read_end(r);
	return rc == 1 ? m.weight : 0;
}

static void note_many(struct store *s, uint32_t client, uint32_t first, uint32_t count,
		      uint64_t weight)
{
	struct store_missing *notes = calloc(count, sizeof(*notes));
	struct err err;

	assert_non_null(notes);
	for (uint32_t i = 0; i < count; i++) {
		notes[i].id = id_of(first + i);
		notes[i].client = client;
		notes[i].weight = weight;
		notes[i].last_ns = 1;
	}
	if (store_note_missing(s, (struct kv_bytes){NULL, 0}, notes, count, &err) ||
	    store_flush_missing(s, &err))
		fail_msg("%s", err.message);
	free(notes);
}

static size_t count_missing(struct store *s, uint32_t first, uint32_t count)
{
	size_t found = 0;

	for (uint32_t i = 0; i < count; i++)
		found += weight_of(s, first + i) != 0;
	return found;
}

static uint64_t missing_in(struct store *s)
{
	struct store_stat stat;

	store_stat(s, &stat);
	return stat.missing_count;
}

/* One client asks for thousands of ids, as heavy as can be: what another asked for stays, and an id
 * of both becomes the other's. */
static void test_missing_shares(void **state)
{
	enum {
		HONEST = 100,
		LATE = 6000,
		FLOOD = 10000,
	};
	struct store *s = open_fresh(state);

	note_many(s, 0, 1, 10, 5); /* as an older program has it */
	note_many(s, 1, HONEST, 50, 10);
	for (uint32_t n = 0; n < 3; n++)
		note_many(s, 2, FLOOD + 5000 * n, 5000, UINT64_C(1) << 40);
	assert_int_equal(missing_in(s), LIMIT_MISSING_IDS);
	assert_int_equal(count_missing(s, HONEST, 50), 50);
	assert_int_equal(count_missing(s, 1, 10), 10);

	/* Whoever comes later has a share of what is full. */
	note_many(s, 3, LATE, 1000, 1);
	assert_int_equal(missing_in(s), LIMIT_MISSING_IDS);
	assert_int_equal(count_missing(s, LATE, 1000), 1000);
	assert_int_equal(count_missing(s, HONEST, 50), 50);

	/* The flood knew the id before the host asked. */
	note_many(s, 2, 50, 1, 1);
	note_many(s, 1, 50, 1, 1);
	note_many(s, 2, FLOOD + 15000, 5000, UINT64_C(1) << 50);
	assert_int_equal(weight_of(s, 50), 2);

	if (((const struct engine *)*state)->durable) {
		store_close(s);
		s = open_budget(*state, BUDGET);
		assert_int_equal(missing_in(s), LIMIT_MISSING_IDS);
		note_many(s, 4, FLOOD + 20000, 8000, UINT64_MAX);
		assert_int_equal(count_missing(s, HONEST, 50), 50);
		assert_int_equal(count_missing(s, LATE, 1000), 1000);
	}
	store_close(s);
}

#define ON(engine, test)                                                           \
	{                                                                          \
#test " on " #engine, test, NULL, NULL, (void *)(uintptr_t)&engine \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON(lmdb, test_missing_shares),
		ON(memory, test_missing_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
