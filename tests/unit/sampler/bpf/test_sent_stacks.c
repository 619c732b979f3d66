/* SPDX-License-Identifier: Apache-2.0 */
/* A hash finds the stack that was sent with it, and no other, until no hash can be under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "events.h"
#include "sent_stacks.h"

static void test_find(void **state _unused_)
{
	const uint64_t pcs[] = {1, 2, 3}, others[] = {1, 2, 4};
	const struct sent_stack *row;
	struct sent_stacks t;

	sent_stacks_init(&t);
	assert_null(sent_stacks_find(&t, 77));
	row = sent_stacks_add(&t, 77, pcs, sizeof(pcs));
	assert_non_null(row);
	assert_int_equal(row->len, sizeof(pcs));
	assert_memory_equal(row->pcs, pcs, sizeof(pcs));
	assert_ptr_equal(sent_stacks_find(&t, 77), row);
	assert_null(sent_stacks_find(&t, 78));
	/* Sent again by another CPU; then two stacks with one hash: the second has none. */
	assert_ptr_equal(sent_stacks_add(&t, 77, pcs, sizeof(pcs)), row);
	assert_null(sent_stacks_add(&t, 77, others, sizeof(others)));
	assert_null(sent_stacks_add(&t, 77, pcs, sizeof(pcs) - 8));
	assert_memory_equal(sent_stacks_find(&t, 77)->pcs, pcs, sizeof(pcs));
	/* 0 is no hash; no frame is a stack too. */
	assert_null(sent_stacks_add(&t, 0, pcs, sizeof(pcs)));
	assert_int_equal(sent_stacks_add(&t, 5, pcs, 0)->len, 0);
	assert_int_equal(t.count, 2);
	sent_stacks_done(&t);
}

/* Full: what was sent until the program is told, and what it sent meanwhile, is found. */
static void test_full(void **state _unused_)
{
	struct sent_stacks t;
	const uint64_t *first;
	uint64_t n = 0;

	sent_stacks_init(&t);
	while (t.state == SENT_STACKS_IN_USE) {
		n++;
		assert_non_null(sent_stacks_add(&t, n << 40, &n, sizeof(n)));
		assert_false(sent_stacks_poll(&t));
	}
	assert_true(n > 1000);
	first = sent_stacks_find(&t, UINT64_C(1) << 40)->pcs;
	for (int i = 0; i < 3; i++) {
		n++;
		assert_non_null(sent_stacks_add(&t, n << 40, &n, sizeof(n)));
		assert_false(sent_stacks_poll(&t));
	}
	for (uint64_t i = 1; i <= n; i++)
		assert_int_equal(*sent_stacks_find(&t, i << 40)->pcs, i);
	assert_int_equal(*first, 1);
	for (int i = 0; i < 4; i++)
		assert_false(sent_stacks_poll(&t));
	assert_int_equal(*first, 1);
	assert_true(sent_stacks_poll(&t));
	assert_int_equal(t.state, SENT_STACKS_IN_USE);
	assert_null(sent_stacks_find(&t, UINT64_C(1) << 40));
	assert_non_null(sent_stacks_add(&t, UINT64_C(1) << 40, &n, sizeof(n)));
	sent_stacks_done(&t);
}

/* Data that lasts is handed out where it is; other data of the same queue is copied. */
static void test_events(void **state _unused_)
{
	const uint64_t pcs[] = {1, 2, 3};
	uint64_t passing = 5;
	const struct event lasting = {.time_ns = 3,
				      .data = pcs,
				      .data_len = 24,
				      .is_lasting = true},
			   copied = {.time_ns = 2, .data = &passing, .data_len = 8};
	const struct event *e;
	struct events q;

	events_init(&q);
	assert_true(events_add(&q, &lasting));
	assert_true(events_add(&q, &copied));
	passing = 0;
	/* Kept over a round in which the first one was due. */
	e = events_next(&q, 3);
	assert_non_null(e);
	assert_int_equal(*(const uint64_t *)e->data, 5);
	assert_null(events_next(&q, 3));
	events_compact(&q);
	e = events_next(&q, 4);
	assert_non_null(e);
	assert_ptr_equal(e->data, pcs);
	assert_int_equal(e->data_len, sizeof(pcs));
	assert_null(events_next(&q, 4));
	/* And one that is copied from round to round. */
	passing = 6;
	events_compact(&q);
	assert_true(events_add(&q, &copied));
	passing = 0;
	assert_null(events_next(&q, 1));
	events_compact(&q);
	assert_int_equal(*(const uint64_t *)events_next(&q, 3)->data, 6);
	events_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
