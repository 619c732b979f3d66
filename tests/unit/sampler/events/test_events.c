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
	assert_int_equal(q.now.count, 0);
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

/* --- samples, of which nearly all are like the one before them ------------------------------- */

enum {
	CPUS = 40, /* more than the queue remembers the last sample of */
	STACKS = 50,
	TURN = 8, /* samples in a row of one thread, about */
};

static uint64_t pcs[STACKS][STACKS];

/* What it is follows from its number. Some have their addresses with them. */
static struct event sample(uint64_t time_ns, uint32_t number)
{
	const uint32_t turn = number / TURN, stack = number % STACKS;
	struct event e = {
		.time_ns = time_ns,
		.pid = 100 + turn % 2,
		.tid = 200 + turn % 3,
		.kind = EVENT_SAMPLE,
		.sample =
			{
				.start_ns = 1 + turn / 5 % 2,
				.cgroup_id = turn / 7 % 2,
				.cpu = turn / 11 % CPUS,
				.flags = turn / 13 % 2 ? SAMPLE_EXITING : 0,
				.state = turn / 17 % 2,
				.syscall = (int32_t)(number % 5) - 1,
				.kernel_err = number % 3 ? 0 : -1,
				.user_err = number % 4 ? 0 : -2,
				.kernel_count = (uint16_t)(stack / 2),
				.user_count = (uint16_t)(stack - stack / 2),
				.comm = "name",
				.stack_id = 1 + stack,
			},
		.data = pcs[stack],
		.data_len = stack * sizeof(uint64_t),
		.is_lasting = number % 11 != 0,
	};

	e.sample.comm[4] = (char)('0' + turn / 19 % 2);
	return e;
}

static void check_thread(const struct event *e, const struct event *want)
{
	assert_int_equal(e->kind, EVENT_SAMPLE);
	assert_int_equal(e->pid, want->pid);
	assert_int_equal(e->tid, want->tid);
	assert_int_equal(e->sample.start_ns, want->sample.start_ns);
	assert_int_equal(e->sample.cgroup_id, want->sample.cgroup_id);
	assert_int_equal(e->sample.cpu, want->sample.cpu);
	assert_int_equal(e->sample.flags, want->sample.flags);
	assert_int_equal(e->sample.state, want->sample.state);
	assert_memory_equal(e->sample.comm, want->sample.comm, sizeof(want->sample.comm));
}

static void check_sample(const struct event *e, const struct event *want)
{
	check_thread(e, want);
	assert_int_equal(e->time_ns, want->time_ns);
	assert_int_equal(e->sample.syscall, want->sample.syscall);
	assert_int_equal(e->sample.kernel_err, want->sample.kernel_err);
	assert_int_equal(e->sample.user_err, want->sample.user_err);
	assert_int_equal(e->sample.kernel_count, want->sample.kernel_count);
	assert_int_equal(e->sample.user_count, want->sample.user_count);
	assert_int_equal(e->sample.stack_id, want->sample.stack_id);
	assert_int_equal(e->data_len, want->data_len);
	if (want->is_lasting)
		assert_ptr_equal(e->data, want->data);
	else
		assert_memory_equal(e->data, want->data, want->data_len);
}

struct waiting {
	uint64_t time_ns;
	uint32_t number;
};

/* The oldest, of these the first, goes; its number. */
static uint32_t take_first(struct waiting *rows, size_t *count)
{
	size_t first = 0;
	uint32_t number;

	for (size_t i = 1; i < *count; i++)
		if (rows[i].time_ns < rows[first].time_ns)
			first = i;
	number = rows[first].number;
	memmove(&rows[first], &rows[first + 1], (--*count - first) * sizeof(*rows));
	return number;
}

struct seen {
	const struct event *at;
	struct event copy;
};

/* What was seen at an address, or a free row. */
static struct seen *seen_at(struct seen *rows, const struct event *at)
{
	while (rows->at && rows->at != at)
		rows++;
	return rows;
}

/* Each comes out as it went in, over rounds that leave some; and one that is said to be again is
 * like what was handed out before it at its address. */
static void test_samples(void **state _unused_)
{
	enum {
		ROUNDS = 30,
		EACH = 1000
	};
	static struct waiting waiting[2 * EACH];
	static uint64_t times[ROUNDS * EACH + 1];
	static struct seen before[2 * EACH];
	uint32_t number = 0, agains = 0;
	size_t count = 0;
	struct events q;

	for (size_t i = 0; i < STACKS; i++)
		for (size_t j = 0; j < STACKS; j++)
			pcs[i][j] = i * 1000 + j;
	srand(3);
	events_init(&q);
	for (uint64_t round = 1; round <= ROUNDS + 1; round++) {
		const uint64_t horizon = round > ROUNDS ? UINT64_MAX : round * 1000 + 900;
		const struct event *e;

		/* One ring behind the other; a time may come twice, or go back. */
		for (uint32_t i = 0; round <= ROUNDS && i < EACH; i++) {
			const uint64_t late_ns = rand() % 50 ? 0 : 30;
			struct event s;

			times[++number] = round * 1000 + i % 250 * 4 - late_ns;
			waiting[count++] = (struct waiting){times[number], number};
			s = sample(times[number], number);
			assert_true(events_add(&q, &s));
		}
		while ((e = events_next(&q, horizon))) {
			const uint32_t next = take_first(waiting, &count);
			const struct event want = sample(times[next], next);

			check_sample(e, &want);
			if (e->is_again) {
				check_thread(e, &seen_at(before, e)->copy);
				agains++;
			}
			*seen_at(before, e) = (struct seen){e, *e};
		}
		memset(before, 0, sizeof(before));
		for (size_t i = 0; i < count; i++)
			assert_true(waiting[i].time_ns >= horizon);
		events_compact(&q);
	}
	assert_int_equal(count, 0);
	assert_int_equal(q.refused, 0);
	assert_true(agains > number / 2);
	events_done(&q);
}

static const struct event *sample_of(struct events *q, uint32_t tid)
{
	const struct event *e = events_next(q, UINT64_MAX);

	assert_non_null(e);
	assert_int_equal(e->tid, tid);
	return e;
}

/* One that is told to be as the one before it is not compared, and as nobody when that is lost. */
static void test_same_thread(void **state _unused_)
{
	static const uint64_t pc = 1;
	struct event e = {
		.time_ns = 1,
		.tid = 101,
		.kind = EVENT_SAMPLE,
		.sample.user_count = 1,
		.data = &pc,
		.data_len = sizeof(pc),
		.is_lasting = true,
	};
	struct events q;

	events_init(&q);
	assert_true(events_add(&q, &e));
	e.time_ns = 2;
	e.is_same_thread = true;
	assert_true(events_add(&q, &e));
	e.time_ns = 3;
	e.tid = 102;
	e.is_same_thread = e.is_lasting = false;
	assert_true(events_add(&q, &e));
	/* Another CPU in its slot: so the next one is kept whole. */
	e.sample.cpu = EVENTS_LAST;
	assert_true(events_add(&q, &e));
	e.sample.cpu = 0;
	e.time_ns = 4;
	e.is_same_thread = e.is_lasting = true;
	assert_true(events_add(&q, &e));
	assert_false(sample_of(&q, 101)->is_again);
	/* There is no room for those two when what is left is kept for another round. */
	q.spare.data.max = 0;
	events_compact(&q);
	assert_int_equal(q.refused, 2);
	assert_false(sample_of(&q, 101)->is_again);
	assert_false(sample_of(&q, 102)->is_again);
	events_compact(&q);
	/* It goes on from there, on this CPU and on no other of the same slot. */
	e.time_ns = 5;
	assert_true(events_add(&q, &e));
	e.time_ns = 6;
	assert_true(events_add(&q, &e));
	e.time_ns = 7;
	e.tid = 103;
	e.sample.cpu = EVENTS_LAST;
	assert_true(events_add(&q, &e));
	assert_false(sample_of(&q, 102)->is_again);
	assert_true(sample_of(&q, 102)->is_again);
	assert_false(sample_of(&q, 103)->is_again);
	events_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_same_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
