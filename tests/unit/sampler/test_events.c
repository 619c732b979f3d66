/* SPDX-License-Identifier: Apache-2.0 */
/* Events come in order of time, whatever rings they came from and however many polls they waited.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events.h"

/* An event is known by its tid; its data is its number, twice. */
static void add(struct events *q, uint64_t time_ns, uint32_t number)
{
	const uint32_t twice[2] = {number, number};

	assert_true(events_add(q, &(struct event){
					  .time_ns = time_ns,
					  .tid = number,
					  .kind = EVENT_EXIT,
					  .data = twice,
					  .data_len = sizeof(twice),
				  }));
}

static uint32_t take(struct events *q, uint64_t horizon_ns)
{
	const struct event *e = events_next(q, horizon_ns);
	const uint32_t *twice;

	if (!e)
		return 0;
	twice = e->data;
	assert_int_equal(twice[0], e->tid);
	assert_int_equal(twice[1], e->tid);
	return e->tid;
}

static void test_rings(void **state _unused_)
{
	struct events q;

	events_init(&q);
	assert_int_equal(take(&q, 100), 0);
	/* Three rings, of which one has a hint behind its sample; one instant in all of them. */
	add(&q, 10, 1);
	add(&q, 30, 4);
	add(&q, 20, 3);
	add(&q, 40, 7);
	add(&q, 30, 5);
	add(&q, 29, 30);
	add(&q, 15, 2);
	add(&q, 30, 6);
	assert_int_equal(take(&q, 30), 1);
	assert_int_equal(take(&q, 30), 2);
	assert_int_equal(take(&q, 30), 3);
	assert_int_equal(take(&q, 30), 30);
	assert_int_equal(take(&q, 30), 0);
	events_compact(&q);
	/* What waited stands before what comes now, within one instant. */
	add(&q, 35, 35);
	add(&q, 30, 8);
	assert_int_equal(take(&q, 50), 4);
	assert_int_equal(take(&q, 50), 5);
	assert_int_equal(take(&q, 50), 6);
	assert_int_equal(take(&q, 50), 8);
	assert_int_equal(take(&q, 50), 35);
	assert_int_equal(take(&q, 50), 7);
	assert_int_equal(take(&q, 50), 0);
	events_compact(&q);
	assert_int_equal(take(&q, UINT64_MAX), 0);
	assert_int_equal(q.count, 0);
	events_done(&q);
}

/* Against a plain search: any order, many equal times, bursts that are larger than what is kept. */
static void test_any_order(void **state _unused_)
{
	enum {
		ROUNDS = 40,
		MOST = 6000
	};
	uint64_t *times = calloc((size_t)ROUNDS * MOST + 1, sizeof(*times)), last = 0;
	uint32_t number = 0, taken = 0, got;
	struct events q;

	assert_non_null(times);
	srand(7);
	events_init(&q);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		const uint32_t count = (uint32_t)rand() % (round % 4 ? 100 : MOST);
		uint32_t last_of_instant = 0;

		for (uint32_t i = 0; i < count; i++) {
			times[++number] = round * 100 + (uint64_t)rand() % 150;
			add(&q, times[number], number);
		}
		while ((got = take(&q, round * 100 + 100))) {
			assert_true(times[got] >= last);
			assert_true(times[got] < round * 100 + 100);
			if (times[got] == last)
				assert_true(got > last_of_instant);
			last_of_instant = got;
			last = times[got];
			times[got] = UINT64_MAX; /* once */
			taken++;
		}
		events_compact(&q);
	}
	while (take(&q, UINT64_MAX))
		taken++;
	assert_int_equal(taken, number);
	assert_int_equal(q.refused, 0);
	events_done(&q);
	free(times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
