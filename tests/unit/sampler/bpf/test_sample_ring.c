/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as the BPF program leaves them in a ring: whose they are is said once, and what cannot be
 * is counted and not believed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"
#include "sample_ring.h"
#include "sampler_event.h"

enum {
	RING_LEN = 4096
};

struct fixture {
	/* As the program has it: an event may begin at the last byte but seven. */
	_Alignas(8) uint8_t ring[RING_LEN + SAMPLER_EVENT_MAX];
	uint64_t head, tail;
	struct sample_ring r;
	struct sent_stacks stacks;
	struct events q;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->r.cpu = 3;
	/* The next but one event begins before the end of the ring and ends behind it. */
	f->head = f->tail = 7 * (uint64_t)RING_LEN - 64;
	sent_stacks_init(&f->stacks);
	events_init(&f->q);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sent_stacks_done(&f->stacks);
	events_done(&f->q);
	free(f);
	return 0;
}

static struct sampler_thread a_thread(uint32_t tid)
{
	return (struct sampler_thread){
		.start_ns = 11,
		.cgroup_id = 12,
		.state = 1,
		.flags = SAMPLER_EXITING,
		.pid = 100,
		.tid = tid,
		.comm = "a name of sixte",
		.syscall = 17,
	};
}

#define HINT_LEN(count) \
	(offsetof(struct sampler_hint, rows) + (count) * sizeof(struct sampler_hint_row))

/* Two addresses of the kernel and one of user space, or their hash. */
static size_t make_sample(uint8_t *to, uint64_t time_ns, uint64_t hash, uint16_t flags,
			  const struct sampler_thread *t)
{
	const uint64_t pcs[3] = {hash, 2, 3};
	const struct sampler_event head = {
		.time_ns = time_ns,
		.stack_hash = hash,
		.kernel_len = 16,
		.user_len = 8,
		.flags = (uint16_t)(flags | (t ? SAMPLER_NEW_THREAD : 0)),
		.user_err = EFAULT,
	};
	size_t len = offsetof(struct sampler_event, pcs);

	memcpy(to, &head, len);
	if (!(flags & SAMPLER_STACK_SENT)) {
		memcpy(to + len, pcs, sizeof(pcs));
		len += sizeof(pcs);
	}
	if (t) {
		memcpy(to + len, t, sizeof(*t));
		len += sizeof(*t);
	}
	return len;
}

static void put_sample(struct fixture *f, uint64_t time_ns, uint64_t hash, uint16_t flags,
		       const struct sampler_thread *t)
{
	f->head += make_sample(f->ring + f->head % RING_LEN, time_ns, hash, flags, t);
}

/* As much of a hint behind it. */
static void put_sample_and(struct fixture *f, uint64_t time_ns, const struct sampler_thread *t,
			   const struct sampler_hint *hint, size_t hint_len)
{
	uint8_t *to = f->ring + f->head % RING_LEN;
	const size_t len = make_sample(to, time_ns, 0, SAMPLER_HINT, t);

	memcpy(to + len, hint, hint_len);
	f->head += len + hint_len;
}

static void take(struct fixture *f)
{
	sample_ring_take(&f->r, f->ring, RING_LEN, f->tail, f->head, &f->stacks, &f->q);
	f->tail = f->head;
}

static void assert_is(struct fixture *f, uint64_t time_ns, uint32_t tid, bool is_same)
{
	const struct event *e = events_next(&f->q, UINT64_MAX);

	assert_non_null(e);
	assert_int_equal(e->kind, EVENT_SAMPLE);
	assert_int_equal(e->time_ns, time_ns);
	assert_int_equal(e->pid, 100);
	assert_int_equal(e->tid, tid);
	assert_int_equal(e->sample.start_ns, 11);
	assert_int_equal(e->sample.cgroup_id, 12);
	assert_int_equal(e->sample.cpu, 3);
	assert_int_equal(e->sample.state, 1);
	assert_int_equal(e->sample.syscall, 17);
	assert_memory_equal(e->sample.comm, "a name of sixte", 16);
	assert_int_equal(e->sample.flags, SAMPLE_EXITING);
	assert_int_equal(e->is_again || e->is_same_thread, is_same);
	assert_int_equal(e->sample.user_err, -EFAULT);
	assert_int_equal(e->sample.kernel_err, 0);
	assert_int_equal(e->sample.kernel_count, 2);
	assert_int_equal(e->sample.user_count, 1);
	assert_int_equal(e->data_len, 24);
	assert_int_equal(((const uint64_t *)e->data)[1], 2);
}

static void test_threads(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101), b = a_thread(102);

	put_sample(f, 1, 77, 0, &a);
	put_sample(f, 2, 77, SAMPLER_STACK_SENT, NULL);
	put_sample(f, 3, 0, 0, NULL);
	take(f);
	assert_is(f, 1, 101, false);
	assert_is(f, 2, 101, true);
	assert_is(f, 3, 101, true);
	events_compact(&f->q);
	/* What the next round has goes on from there. */
	put_sample(f, 4, 78, 0, NULL);
	put_sample(f, 5, 77, SAMPLER_STACK_SENT, &b);
	put_sample(f, 6, 78, SAMPLER_STACK_SENT, NULL);
	take(f);
	assert_is(f, 4, 101, true);
	assert_is(f, 5, 102, false);
	assert_is(f, 6, 102, true);
	assert_null(events_next(&f->q, UINT64_MAX));
	assert_int_equal(f->r.refused, 0);
	assert_int_equal(f->stacks.count, 2);
}

static void test_of_nobody(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101);

	/* Its stack is known from then on all the same: the program counts it as sent. */
	put_sample(f, 1, 77, 0, NULL);
	take(f);
	assert_int_equal(f->r.refused, 1);
	put_sample(f, 2, 77, SAMPLER_STACK_SENT, &a);
	take(f);
	assert_is(f, 2, 101, false);
	assert_null(events_next(&f->q, UINT64_MAX));
}

/* One that the queue does not take is not the one before. */
static void test_refused(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101), b = a_thread(102);
	const size_t max = f->q.now.data.max;

	put_sample(f, 1, 0, 0, &a);
	take(f);
	f->q.now.data.max = 0;
	put_sample(f, 2, 0, 0, &b);
	take(f);
	f->q.now.data.max = max;
	put_sample(f, 3, 0, 0, NULL);
	put_sample(f, 4, 0, 0, NULL);
	take(f);
	assert_int_equal(f->r.refused, 1);
	assert_is(f, 1, 101, false);
	assert_is(f, 3, 102, false);
	assert_is(f, 4, 102, true);
}

static void test_unknown_stack(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101);
	const struct event *e;

	put_sample(f, 1, 77, SAMPLER_STACK_SENT, &a);
	take(f);
	e = events_next(&f->q, UINT64_MAX);
	assert_non_null(e);
	assert_int_equal(e->sample.user_err, -ENOENT);
	assert_int_equal(e->sample.kernel_count + e->sample.user_count, 0);
	assert_int_equal(e->data_len, 0);
	assert_int_equal(f->stacks.unknown, 1);
}

/* Whatever stands there, nothing behind it is taken for an event, nor its thread for theirs. */
static void test_no_event(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101);
	const struct sampler_event too_long = {.kernel_len = 65528, .user_len = 65528},
				   odd = {.user_len = 4, .flags = SAMPLER_STACK_SENT},
				   cut = {.user_len = 8, .flags = SAMPLER_NEW_THREAD},
				   hint = {.flags = SAMPLER_HINT};
	const struct {
		const struct sampler_event *e;
		size_t len;
	} rows[] = {
		{&too_long, 1024}, {&odd, 24}, {&odd, 16},      {&cut, 24},
		{&cut, 32},        {&cut, 80}, {&hint, 24 + 8},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_sample(f, 1, 0, 0, &a);
		memcpy(f->ring + f->head % RING_LEN, rows[i].e, rows[i].len);
		f->head += rows[i].len;
		take(f);
		assert_is(f, 1, 101, false);
		assert_null(events_next(&f->q, UINT64_MAX));
		assert_int_equal(f->r.refused, 2 * i + 1);
		put_sample(f, 2, 0, 0, NULL);
		take(f);
		assert_null(events_next(&f->q, UINT64_MAX));
		assert_int_equal(f->r.refused, 2 * i + 2);
		events_compact(&f->q);
	}
}

/* Nor a sample whose hint cannot be. */
static void test_no_hint(void **state)
{
	struct fixture *f = *state;
	const struct sampler_thread a = a_thread(101);
	const struct sampler_hint many = {.count = SAMPLER_HINT_ROWS + 1}, two = {.count = 2},
				  endless = {.count = UINT64_MAX};

	put_sample_and(f, 1, &a, &many, HINT_LEN(SAMPLER_HINT_ROWS));
	take(f);
	put_sample_and(f, 2, &a, &two, HINT_LEN(1));
	take(f);
	put_sample_and(f, 3, &a, &endless, HINT_LEN(1));
	take(f);
	assert_int_equal(f->r.refused, 3);
	assert_null(events_next(&f->q, UINT64_MAX));
}

/* It is in one piece with its sample, behind the end of the ring too. */
static void test_hint(void **state)
{
	struct fixture *f = *state;
	const struct sampler_hint hint = {
		.namespaces = 5,
		.count = 1,
		.rows[0] = {.pc = 3, .file_off = 4, .len = 1, .id = {6}},
	};
	const struct sampler_thread a = a_thread(101);
	const struct event_hint *row;
	const struct event *e;

	/* Of nobody: neither is one. */
	put_sample_and(f, 8, NULL, &hint, HINT_LEN(1));
	take(f);
	assert_null(events_next(&f->q, UINT64_MAX));
	assert_int_equal(f->r.refused, 1);
	f->head = f->tail = 7 * (uint64_t)RING_LEN - 64;
	put_sample_and(f, 9, &a, &hint, HINT_LEN(1));
	put_sample(f, 10, 0, 0, NULL);
	take(f);
	e = events_next(&f->q, UINT64_MAX);
	assert_non_null(e);
	assert_int_equal(e->kind, EVENT_HINT);
	assert_int_equal(e->time_ns, 8);
	assert_int_equal(e->pid, 100);
	assert_int_equal(e->tid, 101);
	assert_int_equal(e->hint.start_ns, 11);
	assert_int_equal(e->hint.namespaces, 5);
	assert_int_equal(e->data_len, sizeof(*row));
	row = e->data;
	assert_int_equal(row->file_off, 4);
	assert_int_equal(row->id[0], 6);
	assert_is(f, 9, 101, false);
	assert_is(f, 10, 101, true);
	assert_int_equal(f->r.refused, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_hint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hint, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
