/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of requests: bounded, in turns, and in order for each client. */
#include "rpc_pool.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>

enum {
	JOBS = 100
};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct rpc_job *ran[3 * JOBS];
static atomic_size_t ran_count;
static struct rpc_job *displaced; /* by the last one submitted */

static void note(struct rpc_job *job)
{
	ran[atomic_fetch_add(&ran_count, 1)] = job;
}

static void wait_at_gate(struct rpc_job *job _unused_)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

/* One thread that waits at the gate, which the caller has closed. */
static struct rpc_pool *open_pool(struct rpc_job *first, size_t max_jobs, size_t max_bytes)
{
	struct rpc_pool *pool;
	struct err err;

	atomic_store(&ran_count, 0);
	assert_int_equal(rpc_pool_open(&pool, "test", 1, max_jobs, max_bytes, &err), 0);
	*first = (struct rpc_job){.run = wait_at_gate};
	assert_true(rpc_pool_submit(pool, first, &displaced));
	return pool;
}

/* Waits until the first job is at the gate: then the queue has all its room. */
static size_t fill(struct rpc_pool *pool, struct rpc_job *jobs, size_t count, uint32_t client,
		   size_t bytes)
{
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		jobs[i] = (struct rpc_job){.run = note, .client = client, .bytes = bytes};
		if (!rpc_pool_submit(pool, &jobs[i], &displaced))
			break;
		taken++;
	}
	return taken;
}

/* A client that asked for much first does not make another wait for all of it. */
static void test_turns(void **state _unused_)
{
	static struct rpc_job first, greedy[JOBS], modest[3];
	struct rpc_pool *pool;
	size_t last = 0, at[2] = {0, 0};

	pthread_mutex_lock(&gate);
	pool = open_pool(&first, 4 * JOBS, 1 << 20);
	assert_int_equal(fill(pool, greedy, JOBS, 5, 1), JOBS);
	assert_int_equal(fill(pool, modest, 3, 6, 1), 3);
	pthread_mutex_unlock(&gate);
	rpc_pool_close(pool);
	assert_int_equal(ran_count, JOBS + 3);
	for (size_t i = 0; i < ran_count; i++) {
		bool is_modest = ran[i]->client == 6;

		assert_ptr_equal(ran[i], is_modest ? &modest[at[1]] : &greedy[at[0]]);
		at[is_modest]++;
		if (is_modest)
			last = i;
	}
	assert_in_range(last, 2, 7);
}

/* One client fills three quarters of the queue, in jobs or in bytes; the rest is for others. */
static void test_share(void **state _unused_)
{
	static struct rpc_job first, greedy[JOBS], modest[JOBS];
	struct rpc_pool *pool;

	for (int in_bytes = 0; in_bytes < 2; in_bytes++) {
		size_t share, rest;

		pthread_mutex_lock(&gate);
		pool = in_bytes ? open_pool(&first, 10 * JOBS, 40 * 1000)
				: open_pool(&first, 40, 1 << 30);
		share = fill(pool, greedy, JOBS, 1, 1000);
		assert_in_range(share, 29, 30); /* the first may be in the queue still */
		rest = fill(pool, modest, JOBS, 2, 1000);
		assert_in_range(rest, 9, 10);
		pthread_mutex_unlock(&gate);
		rpc_pool_close(pool);
		assert_int_equal(ran_count, share + rest);
	}
}

/* There are fewer turns than clients: who shares one with the greedy is not refused for it. */
static void test_shared_turn(void **state _unused_)
{
	static struct rpc_job first, greedy[JOBS], modest[JOBS], more[JOBS];
	struct rpc_pool *pool;
	size_t share;

	pthread_mutex_lock(&gate);
	pool = open_pool(&first, 40, 1 << 30);
	share = fill(pool, greedy, JOBS, 1, 1000);
	assert_in_range(share, 29, 30);
	assert_int_equal(fill(pool, modest, JOBS, 1 + 64, 1000), 1);
	assert_int_equal(fill(pool, more, JOBS, 1, 1000), 0);
	pthread_mutex_unlock(&gate);
	rpc_pool_close(pool);
	assert_int_equal(ran_count, share + 1);
}

/* Several who fill the queue together do not keep others out: of one of them the last job goes, in
 * number or in bytes; of whom there is one job, nobody's goes. */
static void test_displaced(void **state _unused_)
{
	static struct rpc_job first, greedy[4][JOBS], modest[JOBS], strangers[60];
	struct rpc_pool *pool;
	size_t held = 0;

	for (int in_bytes = 0; in_bytes < 2; in_bytes++) {
		pthread_mutex_lock(&gate);
		pool = in_bytes ? open_pool(&first, 10 * JOBS, 40 * 1000)
				: open_pool(&first, 40, 1 << 30);
		held = 0;
		for (uint32_t i = 0; i < 4; i++)
			held += fill(pool, greedy[i], 12, 10 + i, 1000);
		assert_in_range(held, 39, 40); /* the first may be in the queue still */
		assert_int_equal(fill(pool, modest, 1, 2, 1000), 1);
		assert_non_null(displaced);
		assert_in_range(displaced->client, 10, 13);
		assert_int_equal(fill(pool, modest + 1, 1, 2, 1000), 0); /* one, no more */
		assert_null(displaced);
		pthread_mutex_unlock(&gate);
		rpc_pool_close(pool);
		assert_int_equal(ran_count, held);
	}
	pthread_mutex_lock(&gate);
	pool = open_pool(&first, 40, 1 << 30);
	held = 0;
	for (uint32_t i = 0; i < 60; i++)
		held += fill(pool, &strangers[i], 1, 1 + i, 1);
	assert_in_range(held, 39, 40);
	pthread_mutex_unlock(&gate);
	rpc_pool_close(pool);
	assert_int_equal(ran_count, held);
}

/* What is larger than the queue still gets in when nothing else is there. */
static void test_large(void **state _unused_)
{
	struct rpc_job large = {.run = note, .bytes = 1 << 20};
	struct rpc_pool *pool;

	atomic_store(&ran_count, 0);
	assert_int_equal(rpc_pool_open(&pool, "test", 2, 10, 1000, NULL), 0);
	assert_true(rpc_pool_submit(pool, &large, &displaced));
	rpc_pool_close(pool);
	assert_int_equal(ran_count, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),       cmocka_unit_test(test_share),
		cmocka_unit_test(test_shared_turn), cmocka_unit_test(test_displaced),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
