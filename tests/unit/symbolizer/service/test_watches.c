/* SPDX-License-Identifier: Apache-2.0 */
/* Watches without connections: who is told what, when the reader is slow, and how many there may
 * be. */
#include "watches.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"

/* A reader that takes `room` more events. */
struct reader {
	size_t room, count;
	struct watch_event last;
	int ended;
};

static bool take(void *arg, const struct watch_event *event)
{
	struct reader *r = arg;

	if (!r->room)
		return false;
	r->room--;
	r->count++;
	r->last = *event;
	return true;
}

static void end(void *arg, int code, const char *message)
{
	struct reader *r = arg;

	assert_true(message[0]);
	assert_int_equal(r->ended, 0);
	r->ended = code;
}

static struct build_id id_of(uint32_t n)
{
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, &n, sizeof(n), NULL), 0);
	return id;
}

static void tell(struct watches *w, uint32_t n, bool failed, uint64_t generation)
{
	watches_tell(w, &(struct watch_event){id_of(n), failed, generation, false});
}

static uint32_t client; /* who watches */

static int try_watch(struct watch **ret, struct watches *w, uint32_t number, struct reader *r,
		     const struct build_id *ids, size_t count)
{
	const struct watch_reader reader = {.client = number, .arg = r, .send = take, .end = end};
	struct err err;

	return watch_open(ret, w, &reader, ids, count, &err);
}

static struct watch *open_watch(struct watches *w, struct reader *r, uint32_t first, uint32_t count)
{
	struct build_id ids[16];
	struct watch *ret;

	for (uint32_t i = 0; i < count; i++)
		ids[i] = id_of(first + i);
	assert_int_equal(try_watch(&ret, w, client, r, ids, count), 0);
	return ret;
}

static void test_told(void **state _unused_)
{
	struct watches *w = watches_new(NULL);
	struct reader named = {.room = 10}, all = {.room = 10};
	struct watch *a = open_watch(w, &named, 1, 2), *b = open_watch(w, &all, 0, 0);

	tell(w, 3, false, 5);
	assert_int_equal(named.count, 0);
	assert_int_equal(all.count, 1);
	tell(w, 2, true, 0);
	assert_int_equal(named.count, 1);
	assert_true(named.last.failed);
	tell(w, 2, false, 7); /* again, for it changed */
	assert_int_equal(named.count, 2);
	assert_int_equal(named.last.generation, 7);
	watch_close(a);
	tell(w, 2, false, 8);
	assert_int_equal(named.count, 2);
	assert_int_equal(all.count, 4);
	watch_close(b);
	watches_free(w);
}

/* What waits is held once for each id, in its newest state. */
static void test_slow(void **state _unused_)
{
	struct watches *w = watches_new(NULL);
	struct reader named = {0}, all = {0};
	struct watch *a = open_watch(w, &named, 0, 3), *b = open_watch(w, &all, 0, 0);

	for (uint32_t i = 0; i < 100000; i++)
		tell(w, i % 3, false, i);
	assert_int_equal(named.count, 0);
	named.room = all.room = 2;
	watch_pump(a);
	watch_pump(b);
	assert_int_equal(named.count, 2);
	named.room = all.room = 100;
	watch_pump(a);
	watch_pump(b);
	assert_int_equal(named.count, 3);
	assert_int_equal(all.count, 3);
	assert_int_equal(named.last.generation, 99998);
	/* One that wants all and takes nothing is given up when it has waited for too many. */
	all.room = 0;
	for (uint32_t i = 0; i < LIMIT_WATCH_PENDING; i++)
		tell(w, 10 + i, false, i);
	assert_int_equal(all.ended, 0);
	tell(w, 5, false, 1);
	assert_int_equal(all.ended, ERR_LIMIT);
	tell(w, 6, false, 1);
	assert_int_equal(named.ended, 0);
	watches_stop(w);
	assert_int_equal(named.ended, ERR_UNAVAILABLE);
	watch_close(a);
	watch_close(b);
	watches_free(w);
}

static void test_limits(void **state _unused_)
{
	struct watches *w = watches_new(NULL);
	struct watch *open[LIMIT_WATCHES], *more;
	struct reader r = {0};

	for (size_t i = 0; i < LIMIT_WATCHES; i++)
		open[i] = open_watch(w, &r, 0, 16);
	assert_int_equal(try_watch(&more, w, 0, &r, NULL, 0), ERR_LIMIT);
	watch_close(open[0]);
	open[0] = open_watch(w, &r, 0, 0);
	for (size_t i = 0; i < LIMIT_WATCHES; i++)
		watch_close(open[i]);
	watches_stop(w);
	assert_int_equal(try_watch(&more, w, 0, &r, NULL, 0), ERR_UNAVAILABLE);
	watches_free(w);
}

/* One client has all watches: who comes takes the newest of them, one for each that he opens, until
 * both have the same. */
static void test_shares(void **state _unused_)
{
	static struct reader greedy[LIMIT_WATCHES], others[LIMIT_WATCHES];
	struct watch *open[LIMIT_WATCHES], *mine[LIMIT_WATCHES], *more;
	struct watches *w = watches_new(NULL);
	size_t count;

	client = 1;
	for (size_t i = 0; i < LIMIT_WATCHES; i++)
		open[i] = open_watch(w, &greedy[i], 0, 16);
	client = 2;
	for (count = 0; count < LIMIT_WATCHES; count++) {
		others[count].room = 1;
		if (try_watch(&mine[count], w, client, &others[count], &(struct build_id){0}, 0))
			break;
	}
	assert_int_equal(count, LIMIT_WATCHES / 2);
	for (size_t i = 0; i < LIMIT_WATCHES; i++)
		assert_int_equal(greedy[i].ended, i < LIMIT_WATCHES / 2 ? 0 : ERR_LIMIT);
	assert_int_equal(try_watch(&more, w, 1, &greedy[0], NULL, 0), ERR_LIMIT);
	tell(w, 3, false, 1);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(others[i].ended, 0);
		assert_int_equal(others[i].count, 1);
	}
	/* Places of those that ended are not given away twice. */
	for (size_t i = LIMIT_WATCHES / 2; i < LIMIT_WATCHES; i++)
		watch_close(open[i]);
	assert_int_equal(try_watch(&more, w, 1, &greedy[0], NULL, 0), ERR_LIMIT);
	for (size_t i = 0; i < LIMIT_WATCHES / 2; i++)
		watch_close(open[i]);
	for (size_t i = 0; i < count; i++)
		watch_close(mine[i]);
	client = 0;
	watches_free(w);
}

/* Likewise the ids, of which few watches may name all. */
static void test_id_shares(void **state _unused_)
{
	enum {
		EACH = 8192,
		ALL = LIMIT_WATCHED_IDS / EACH,
	};
	static struct build_id ids[EACH];
	static struct reader greedy[ALL], other;
	struct watch *open[ALL], *mine, *more;
	struct watches *w = watches_new(NULL);

	for (uint32_t i = 0; i < EACH; i++)
		ids[i] = id_of(i);
	for (size_t i = 0; i < ALL; i++)
		assert_int_equal(try_watch(&open[i], w, 1, &greedy[i], ids, EACH), 0);
	assert_int_equal(try_watch(&more, w, 1, &other, ids, 1), ERR_LIMIT);
	assert_int_equal(try_watch(&mine, w, 2, &other, ids, 1), 0);
	assert_int_equal(greedy[ALL - 1].ended, ERR_LIMIT);
	assert_int_equal(greedy[ALL - 2].ended, 0);
	watch_close(mine);
	for (size_t i = 0; i < ALL; i++)
		watch_close(open[i]);
	watches_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),      cmocka_unit_test(test_slow),
		cmocka_unit_test(test_limits),    cmocka_unit_test(test_shares),
		cmocka_unit_test(test_id_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
