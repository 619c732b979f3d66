/* SPDX-License-Identifier: Apache-2.0 */
/* A store that another process has open to read, as `verify` and `backup` do, while it grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store.h"

enum {
	BUDGET = 4 << 20,
	FORMAT = 3,
	FULL = 16 << 20,
	TABLE_LEN = 1 << 20
};

static uint8_t table[TABLE_LEN];

static void fill(struct store_binary *b, uint8_t n)
{
	uint8_t bytes[20] = {n};

	*b = (struct store_binary){.status = STORE_READY, .generation = 1, .table_len = TABLE_LEN};
	assert_int_equal(build_id_set(&b->id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	memset(table, n, sizeof(table));
}

static void put(struct store *s, uint8_t n)
{
	struct store_binary b;
	struct err err;

	fill(&b, n);
	if (store_put(s, &b, table, &err))
		fail_msg("%s", err.message);
}

static struct store *open_store(uint64_t max)
{
	struct store *s = NULL;
	struct kv *kv;
	struct err err;

	if (store_kv_open_lmdb(&kv, ".", max, 0, &err) || store_open(&s, kv, max, FORMAT, &err))
		fail_msg("%s", err.message);
	return s;
}

static void tell(void *ctx, const struct build_id *id, const char *what)
{
	(void)ctx;
	(void)id;
	(void)what;
}

/* Exit status: 0 found nothing, 1 damage, 2 could not look. */
static void look(int ready, int go)
{
	struct store *s = NULL;
	struct store_read *r;
	struct kv *kv;
	size_t found = 0;
	char c = 0;

	if (store_kv_open_lmdb(&kv, ".", 0, 0, NULL) || store_open(&s, kv, 0, FORMAT, NULL) ||
	    store_read_begin(s, &r, NULL))
		_exit(2);
	store_read_end(r);
	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1 ||
	    store_verify(s, tell, NULL, &found, NULL))
		_exit(2);
	_exit(found != 0);
}

static void test_grows_beside_a_reader(void **state)
{
	int ready[2], go[2], status;
	struct store *s;
	pid_t pid;
	char c = 0;

	(void)state;
	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_store(BUDGET);
	put(s, 1);
	store_close(s); /* before the fork: an environment is of one process */
	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(go[1]);
		look(ready[1], go[0]);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	s = open_store(BUDGET);
	put(s, 2);
	put(s, 3);
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	store_close(s);
}

/* Reads, and goes on reading, as a backup to a slow disk does. */
static void hold(int ready, int go)
{
	struct store *s = NULL;
	struct store_read *r;
	struct kv *kv;
	char c = 0;

	if (store_kv_open_lmdb(&kv, ".", 0, 0, NULL) || store_open(&s, kv, 0, FORMAT, NULL) ||
	    store_read_begin(s, &r, NULL) || write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
		_exit(2);
	_exit(0);
}

/* What another process reads is not free however much is evicted: nothing goes for it, and the put
 * fails until it has ended. */
static void test_full_beside_a_reader(void **state)
{
	int ready[2], go[2], status;
	struct store_stat stat;
	struct store_binary b;
	struct store *s;
	size_t before;
	struct err err = {0};
	pid_t pid;
	char c = 0;

	(void)state;
	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_store(FULL);
	for (uint8_t n = 1; n < 2 * FULL / TABLE_LEN; n++)
		put(s, n);
	store_close(s);
	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(go[1]); /* so that it ends with this test */
		hold(ready[1], go[0]);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	s = open_store(FULL);
	store_stat(s, &stat);
	before = stat.ready_count;
	assert_in_range(before, 8, FULL / TABLE_LEN);
	for (uint8_t n = 100; n < 110; n++) {
		fill(&b, n);
		if (store_put(s, &b, table, &err)) {
			assert_int_equal(err.code, ERR_UNAVAILABLE);
			break;
		}
	}
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	store_stat(s, &stat);
	assert_in_range(stat.ready_count, before, before + 3); /* some found room as it was */
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	put(s, 120);
	store_stat(s, &stat);
	assert_in_range(stat.ready_count, before - 2, before + 4);
	store_close(s);
}

/* Private memory that this process may write to, as RLIMIT_DATA counts it. */
static size_t data_len(void)
{
	char line[128];
	size_t kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmData:", 7))
			kib = strtoul(line + 7, NULL, 10);
	if (f)
		fclose(f);
	return kib * 1024;
}

/* Exit status: 0 stored, 1 there was not enough memory for it. */
static void put_within(size_t extra)
{
	const size_t len = 32 << 20;
	struct store_binary b = {.status = STORE_READY, .generation = 1, .table_len = len};
	struct store *s = open_store((uint64_t)4 * len);
	void *large = calloc(1, len);
	struct rlimit limit;

	if (!large || build_id_set(&b.id, BUILD_ID_GNU, "large", 5, NULL))
		_exit(2);
	limit.rlim_cur = limit.rlim_max = data_len() + extra;
	if (setrlimit(RLIMIT_DATA, &limit))
		_exit(2);
	_exit(store_put(s, &b, large, NULL) != 0);
}

/* To store a table of 32 MiB takes as much of memory for a moment, and not a quarter more. */
static void test_memory_of_a_put(void **state)
{
	const size_t extra[] = {16 << 20, 40 << 20};

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* what they map counts too */
#endif
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t pid;

		unlink("store.mdb");
		unlink("store.mdb-lock");
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			put_within(extra[i]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), i == 0);
	}
	unlink("store.mdb");
	unlink("store.mdb-lock");
}

/* Nothing of a newer program's store is looked at, whoever opens it: its records would count as
 * damaged. */
static void test_newer_store(void **state)
{
	struct store *s = open_store(BUDGET), *again = NULL;
	struct kv *kv;
	struct err err = {0};

	(void)state;
	put(s, 200);
	assert_int_equal(store_meta_put(s, STORE_VERSION_NAME, STORE_VERSION, &err), 0);
	store_close(s);
	s = open_store(BUDGET);
	assert_int_equal(store_meta_put(s, STORE_VERSION_NAME, STORE_VERSION + 1, &err), 0);
	store_close(s);
	for (uint64_t max = 0; max <= BUDGET; max += BUDGET) { /* `verify`, the service */
		assert_int_equal(store_kv_open_lmdb(&kv, ".", max, 0, &err), 0);
		assert_int_equal(store_open(&again, kv, max, FORMAT, &err), ERR_UNSUPPORTED);
		assert_non_null(strstr(err.message, "start the newer one"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_beside_a_reader),
		cmocka_unit_test(test_full_beside_a_reader),
		cmocka_unit_test(test_memory_of_a_put),
		cmocka_unit_test(test_newer_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
