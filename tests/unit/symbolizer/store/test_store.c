/* SPDX-License-Identifier: Apache-2.0 */
/* The store, every case on both engines; what only a file can suffer, on LMDB. */
#include "store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "limits.h"
#include "store_fixture.h"
#include "store_priv.h"

static uint8_t table[2 << 20];

/* Fills `table` with bytes that depend on n. */
static void fill(uint32_t n, size_t len)
{
	for (size_t i = 0; i < len; i++)
		table[i] = (uint8_t)(n * 31 + i * 7 + (i >> 8));
}

static int put(struct store *s, uint32_t n, size_t len, bool pinned, struct err *err)
{
	struct store_binary b = {
		.id = id_of(n),
		.status = STORE_READY,
		.pinned = pinned,
		.changed_ns = 1000 + n,
		.generation = n * 11,
		.table_len = len,
		.meta = "meta",
		.meta_len = 4,
	};

	fill(n, len);
	return store_put(s, &b, table, err);
}

/* The status of id n; 0: unknown. A READY one must have its table, byte for byte. */
static int status_of(struct store *s, uint32_t n)
{
	struct build_id id = id_of(n);
	struct store_read *r;
	struct store_binary b;
	struct store_table t;
	struct err err;
	int rc;

	assert_int_equal(store_read_begin(s, &r, &err), 0);
	rc = store_binary(r, &id, &b, &err);
	assert_true(rc >= 0);
	if (rc == 1 && b.status == STORE_READY) {
		assert_int_equal(store_table(r, &id, &t, &err), 1);
		assert_int_equal((uintptr_t)t.p % 16, 0);
		fill(n, b.table_len);
		assert_int_equal(t.len, b.table_len);
		assert_memory_equal(t.p, table, t.len);
		assert_int_equal(b.generation, n * 11);
		assert_int_equal(b.meta_len, 4);
		assert_memory_equal(b.meta, "meta", 4);
	} else {
		assert_int_equal(store_table(r, &id, &t, &err), 0);
	}
	store_read_end(r);
	return rc ? (int)b.status : 0;
}

static void test_put_get(void **state)
{
	struct store *s = open_fresh(state);
	struct store_binary failed = {.id = id_of(4), .status = STORE_FAILED};
	struct store_stat stat;
	struct build_id id;
	struct err err;

	assert_int_equal(status_of(s, 1), 0);
	assert_int_equal(put(s, 1, 4096, false, &err), 0);
	assert_int_equal(put(s, 2, 100000, true, &err), 0);
	assert_int_equal(put(s, 3, 100000, false, &err), 0);
	assert_int_equal(put(s, 3, 50000, false, &err), 0);
	assert_int_equal(store_put(s, &failed, NULL, &err), 0);
	assert_int_equal(status_of(s, 1), STORE_READY);
	assert_int_equal(status_of(s, 2), STORE_READY);
	assert_int_equal(status_of(s, 3), STORE_READY);
	assert_int_equal(status_of(s, 4), STORE_FAILED);
	store_stat(s, &stat);
	assert_int_equal(stat.ready_count, 3);
	assert_int_equal(stat.table_bytes, 154096);

	id = id_of(1);
	assert_int_equal(store_purge(s, &id, &err), 1);
	assert_int_equal(store_purge(s, &id, &err), 0);
	assert_int_equal(status_of(s, 1), STORE_PURGED);
	id = id_of(9);
	assert_int_equal(store_purge(s, &id, &err), 0);
	assert_int_equal(put(s, 1, 4096, false, &err), 0);
	assert_int_equal(status_of(s, 1), STORE_READY);
	store_stat(s, &stat);
	assert_int_equal(stat.table_bytes, 154096);
	store_close(s);
}

static void test_order(void **state)
{
	struct store *s = open_fresh(state);
	const struct build_id *after = NULL;
	struct store_read *r;
	struct store_binary b;
	struct build_id at;
	struct err err;
	uint32_t n = 0;

	for (uint32_t i = 50; i > 0; i--)
		assert_int_equal(put(s, i, 5000, false, &err), 0);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	while (store_binary_next(r, after, &b, &err) == 1) {
		struct build_id want = id_of(++n);

		assert_true(build_id_equal(&b.id, &want));
		at = b.id;
		after = &at;
	}
	assert_int_equal(n, 50);
	store_read_end(r);
	store_close(s);
}

/* A table written anew has another number, so that no cache serves the old one. */
static void test_numbers(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);
	struct store_table a, b;
	struct store_read *r;
	struct err err;

	assert_int_equal(put(s, 1, 5000, false, &err), 0);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	assert_int_equal(store_table(r, &id, &a, &err), 1);
	store_read_end(r);
	assert_int_equal(put(s, 1, 5000, false, &err), 0);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	assert_int_equal(store_table(r, &id, &b, &err), 1);
	store_read_end(r);
	assert_int_not_equal(a.number, b.number);
	store_close(s);
}

/* Ten times the budget goes through; what was used last and what is pinned stays. */
static void test_eviction(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id used = id_of(2);
	struct store_stat stat;
	struct err err;

	assert_int_equal(put(s, 1, 300000, true, &err), 0);
	assert_int_equal(put(s, 2, 300000, false, &err), 0);
	for (uint32_t i = 3; i < 140; i++) {
		store_note_used(s, &used, 1000000 + i);
		if (i % 10 == 0)
			store_maintain(s);
		if (put(s, i, 300000, false, &err))
			fail_msg("table %u: %s", i, err.message);
	}
	store_stat(s, &stat);
	assert_true(stat.table_bytes <= BUDGET && stat.ready_count >= 7);
	assert_int_equal(status_of(s, 1), STORE_READY);
	assert_int_equal(status_of(s, 2), STORE_READY);
	assert_int_equal(status_of(s, 3), STORE_PURGED);
	assert_int_equal(status_of(s, 139), STORE_READY);
	store_close(s);
}

static void test_full_of_pinned(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);
	struct err err;
	uint32_t n = 1;
	int rc;

	while (!(rc = put(s, n, 500000, true, &err)))
		n++;
	assert_int_equal(rc, ERR_LIMIT);
	assert_string_equal(err.message, "the store is full of pinned tables");
	assert_true(n > 4);
	for (uint32_t i = 1; i < n; i++)
		assert_int_equal(status_of(s, i), STORE_READY);
	/* Room must lie in one piece, so that an equal one need not fit. */
	assert_int_equal(store_pin(s, &id, false, &err), 1);
	assert_int_equal(put(s, n, 400000, false, &err), 0);
	assert_int_equal(status_of(s, 1), STORE_PURGED);
	assert_int_equal(store_pin(s, &id, true, &err), 0);

	assert_int_equal(put(s, n + 1, sizeof(table), false, &err), ERR_LIMIT);
	store_close(s);
	s = open_budget(*state, 1 << 20);
	if (((const struct engine *)*state)->durable)
		assert_int_equal(status_of(s, n), STORE_READY); /* a smaller budget loses nothing */
	store_close(s);
}

static void note(struct store *s, const char *batch, uint32_t n, uint64_t weight, uint64_t now,
		 const char *path)
{
	struct store_missing m = {.id = id_of(n), .weight = weight, .last_ns = now};
	struct err err;

	if (path) {
		m.paths[0] = (struct kv_bytes){path, strlen(path)};
		m.path_count = 1;
	}
	if (store_note_missing(s, (struct kv_bytes){batch, strlen(batch)}, &m, 1, &err))
		fail_msg("%s", err.message);
}

/* The weight of id n; 0 when it is not missing. */
static uint64_t weight_of(struct store *s, uint32_t n, struct store_missing *ret)
{
	struct build_id before = id_of(n - 1), want = id_of(n);
	struct store_missing m;
	struct store_read *r;
	struct err err;
	int rc;

	assert_int_equal(store_flush_missing(s, &err), 0);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	rc = store_missing_next(r, &before, &m, &err);
	store_read_end(r);
	if (ret)
		*ret = m;
	return rc == 1 && build_id_equal(&m.id, &want) ? m.weight : 0;
}

static void test_missing(void **state)
{
	struct store *s = open_fresh(state);
	struct store_missing m;
	struct store_stat stat;
	struct err err;

	note(s, "host-1", 5, 10, 100, "/bin/a");
	note(s, "host-1", 5, 10, 200, "/bin/a"); /* the same data again */
	assert_int_equal(weight_of(s, 5, NULL), 10);
	note(s, "host-2", 5, 7, 300, "/bin/b");
	note(s, "", 5, 1, 250, "/bin/b");
	note(s, "", 5, 1, 260, NULL);
	assert_int_equal(weight_of(s, 5, &m), 19);
	assert_int_equal(m.first_ns, 100);
	assert_int_equal(m.last_ns, 300);
	assert_int_equal(m.path_count, 2);
	for (int i = 0; i < 20; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/opt/%d", i);
		note(s, "", 5, 1, 300, path);
	}
	weight_of(s, 5, &m);
	assert_int_equal(m.path_count, ARRAY_LEN(m.paths));
	note(s, "", 6, UINT64_MAX, 1, NULL);
	note(s, "", 6, 5, 1, NULL);
	assert_true(weight_of(s, 6, NULL) == UINT64_MAX);

	if (((const struct engine *)*state)->durable) {
		store_close(s);
		s = open_budget(*state, BUDGET);
		note(s, "host-2", 5, 1000, 400, NULL); /* still known */
		assert_int_equal(weight_of(s, 5, NULL), 39);
	}
	store_stat(s, &stat);
	assert_int_equal(stat.missing_count, 2);
	assert_int_equal(put(s, 5, 4096, false, &err), 0);
	assert_int_equal(weight_of(s, 5, NULL), 0);
	store_stat(s, &stat);
	assert_int_equal(stat.missing_count, 1);
	store_close(s);
}

/* Above the bound the lightest go, whatever a flood of new ids brings. */
static void test_missing_bound(void **state)
{
	struct store *s = open_fresh(state);
	struct store_missing *notes = calloc(5000, sizeof(*notes));
	struct store_stat stat;
	struct err err;

	assert_non_null(notes);
	note(s, "", 1, 1000, 1, NULL);
	for (uint32_t flood = 1; flood <= 3; flood++) {
		for (uint32_t i = 0; i < 5000; i++) {
			notes[i].id = id_of(flood << 16 | i);
			notes[i].weight = flood;
			notes[i].last_ns = flood;
		}
		if (store_note_missing(s, (struct kv_bytes){NULL, 0}, notes, 5000, &err))
			fail_msg("%s", err.message);
		assert_int_equal(store_flush_missing(s, &err), 0);
	}
	store_stat(s, &stat);
	assert_int_equal(stat.missing_count, LIMIT_MISSING_IDS);
	assert_int_equal(weight_of(s, 1, NULL), 1000);
	assert_int_equal(weight_of(s, (3 << 16) + 7, NULL), 3);
	free(notes);
	store_close(s);
}

/* --- files only ------------------------------------------------------------------------------ */

static void test_reopen(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id id = id_of(2);
	struct store_stat stat;
	struct store_binary b;
	struct store_read *r;
	struct err err;

	assert_int_equal(put(s, 1, 4096, false, &err), 0);
	assert_int_equal(put(s, 2, 600000, true, &err), 0);
	store_note_used(s, &id, 777);
	store_close(s);
	s = open_budget(*state, BUDGET);
	assert_int_equal(status_of(s, 1), STORE_READY);
	assert_int_equal(status_of(s, 2), STORE_READY);
	store_stat(s, &stat);
	assert_int_equal(stat.ready_count, 2);
	assert_int_equal(stat.table_bytes, 604096);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	assert_int_equal(store_binary(r, &id, &b, &err), 1);
	assert_int_equal(b.used_ns, 777);
	assert_true(b.pinned);
	store_read_end(r);
	store_close(s);
}

static void test_truncated(void **state)
{
	struct store *s = open_fresh(state);
	struct stat st;
	struct err err;
	struct kv *kv;

	assert_int_equal(put(s, 1, 600000, false, &err), 0);
	store_close(s);
	assert_int_equal(stat("store.mdb", &st), 0);
	assert_int_equal(truncate("store.mdb", st.st_size - 4096), 0);
	assert_int_equal(store_kv_open_lmdb(&kv, ".", BUDGET, 0, &err), ERR_DATA);
	assert_non_null(strstr(err.message, "store.mdb: truncated"));
	assert_int_equal(truncate("store.mdb", 100), 0);
	assert_int_equal(store_kv_open_lmdb(&kv, ".", BUDGET, 0, &err), ERR_DATA);
}

/* Flips one byte in the middle of a table, where LMDB itself would notice nothing. */
static void damage(uint32_t n)
{
	_cleanup_(closep) int fd = -1;
	uint8_t page[4096];
	bool found = false;

	fill(n, 100000);
	fd = open("store.mdb", O_RDWR | O_CLOEXEC);
	for (off_t at = 0; !found && pread(fd, page, 4096, at) == 4096; at += 4096) {
		if (memcmp(page + 16, table, 4000) != 0)
			continue;
		found = true;
		page[1000] ^= 1;
		assert_int_equal(pwrite(fd, page, 4096, at), 4096);
	}
	assert_true(found);
}

static void test_damaged(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);
	struct store_read *r;
	struct store_table t;
	struct err err;

	assert_int_equal(put(s, 1, 100000, false, &err), 0);
	assert_int_equal(put(s, 2, 100000, false, &err), 0);
	store_close(s);
	damage(1);

	s = open_budget(*state, BUDGET);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	assert_int_equal(store_table(r, &id, &t, &err), ERR_DATA);
	assert_non_null(strstr(err.message, "000001"));
	store_read_end(r);
	assert_int_equal(status_of(s, 2), STORE_READY);
	assert_int_equal(store_purge(s, &id, &err), 1);
	assert_int_equal(put(s, 1, 100000, false, &err), 0);
	assert_int_equal(status_of(s, 1), STORE_READY);
	store_close(s);
}

struct found {
	struct build_id ids[8];
	size_t count;
};

static void note_damaged(void *ctx, const struct build_id *id)
{
	struct found *f = ctx;

	assert_in_range(f->count, 0, ARRAY_LEN(f->ids) - 1);
	f->ids[f->count++] = *id;
}

/* One table changed below the store. */
static void write_below(uint32_t n, const void *p, size_t len)
{
	struct build_id id = id_of(n);
	struct store_key key = store_table_key(&id, FORMAT);
	struct kv_write write = {KV_TABLES, {key.bytes, key.len}, {p, len}};
	struct kv *kv;
	struct err err;

	if (store_kv_open_lmdb(&kv, ".", BUDGET, 0, &err) || kv->ops->commit(kv, &write, 1, &err))
		fail_msg("%s", err.message);
	kv->ops->close(kv);
}

/* A scrub finds a damaged table, one that is gone, and one of which no record tells. */
static void test_scrub(void **state)
{
	struct store *s = open_fresh(state);
	struct found found = {.count = 0};
	struct store_stat stat;
	struct err err;

	for (uint32_t n = 1; n <= 5; n++)
		assert_int_equal(put(s, n, 100000, n == 5, &err), 0);
	assert_int_equal(store_scrub(s, UINT64_MAX, note_damaged, &found), 0);
	store_close(s);
	damage(2);
	write_below(4, NULL, 0);
	fill(9, 4096);
	write_below(9, table, 4096);

	s = open_budget(*state, BUDGET);
	for (int calls = 0; calls < 5; calls++) /* one table each */
		assert_in_range(store_scrub(s, 1, note_damaged, &found), 0, 1);
	assert_int_equal(found.count, 2);
	store_stat(s, &stat);
	assert_int_equal(stat.scrub_rounds, 0);
	assert_int_equal(store_scrub(s, 1, note_damaged, &found), 1);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.ids[0].bytes[2], 2);
	assert_int_equal(found.ids[1].bytes[2], 4);
	assert_int_equal(found.ids[2].bytes[2], 9);
	assert_int_equal(store_scrub(s, UINT64_MAX, note_damaged, &found), 0);
	store_stat(s, &stat);
	assert_int_equal(stat.scrub_rounds, 2);
	assert_int_equal(stat.damaged_count, 2);
	assert_int_equal(stat.ready_count, 3);
	for (uint32_t n = 1; n <= 5; n++)
		assert_int_equal(status_of(s, n), n == 2 || n == 4 ? STORE_PURGED : STORE_READY);
	/* Who finds damage late does no harm to what came since. */
	assert_int_equal(put(s, 2, 100000, false, &err), 0);
	assert_int_equal(store_purge_damaged(s, &found.ids[0], &err), 0);
	assert_int_equal(status_of(s, 2), STORE_READY);
	store_close(s);
}

/* The disk's floor refuses what would make the file grow, and nothing else. */
static void test_disk_floor(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);
	struct kv *kv;
	struct err err;

	assert_int_equal(put(s, 1, 100000, false, &err), 0);
	store_close(s);
	if (store_kv_open_lmdb(&kv, ".", BUDGET, UINT64_MAX / 2, &err) ||
	    store_open(&s, kv, BUDGET, FORMAT, &err))
		fail_msg("%s", err.message);
	assert_int_equal(put(s, 2, 100000, false, &err), ERR_LIMIT);
	assert_non_null(strstr(err.message, "free disk space"));
	assert_int_equal(status_of(s, 1), STORE_READY);
	assert_int_equal(store_pin(s, &id, true, &err), 1);
	store_close(s);
}

static void test_oldest_read(void **state)
{
	struct store *s = open_fresh(state);
	struct store_read *reads[3];
	struct store_stat stat;
	struct err err;

	store_stat(s, &stat);
	assert_int_equal(stat.oldest_read_ns, 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(store_read_begin(s, &reads[i], &err), 0);
		usleep(1000);
	}
	store_read_end(reads[1]);
	store_stat(s, &stat);
	assert_true(stat.oldest_read_ns >= 3000000);
	assert_true(stat.file_bytes > 0);
	store_read_end(reads[0]);
	store_read_end(reads[2]);
	store_stat(s, &stat);
	assert_int_equal(stat.oldest_read_ns, 0);
	store_close(s);
}

/* Another process that has a snapshot of the file, as a backup has, and does not end. */
static pid_t start_reader(void)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct kv_read *r;
		struct kv *kv;

		if (store_kv_open_lmdb(&kv, ".", 0, 0, NULL) || kv->ops->read_begin(kv, &r, NULL) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/*
 * Pages that a snapshot sees are not used again, whosever it is: a process that was killed in the
 * middle of reading would fill the store for ever. It is noticed when room is needed, and before
 * that it can be seen.
 */
static void test_killed_reader(void **state)
{
	struct store *s = open_fresh(state);
	struct store_stat stat;
	struct err err;
	pid_t pid;

	assert_int_equal(put(s, 1, 100000, true, &err), 0);
	store_close(s); /* before the fork: an environment is of one process */
	pid = start_reader();
	s = open_budget(*state, BUDGET);
	for (int i = 0; i < 3; i++)
		assert_int_equal(put(s, 2, 500000, true, &err), 0);
	store_maintain(s); /* it lives, and keeps what it has */
	store_stat(s, &stat);
	assert_in_range(stat.oldest_read_commits, 3, 4);
	assert_int_equal(stat.oldest_read_ns, 0); /* none of ours */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	store_stat(s, &stat);
	assert_in_range(stat.oldest_read_commits, 3, 4);
	for (int i = 0; i < 20; i++)
		if (put(s, 2, 500000, true, &err))
			fail_msg("put %d: %s", i, err.message);
	assert_int_equal(status_of(s, 1), STORE_READY);
	assert_int_equal(status_of(s, 2), STORE_READY);
	store_stat(s, &stat);
	assert_int_equal(stat.oldest_read_commits, 0);
	store_close(s);

	/* And on the timer, when nothing needs room. */
	pid = start_reader();
	s = open_budget(*state, BUDGET);
	assert_int_equal(put(s, 3, 5000, true, &err), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	store_stat(s, &stat);
	assert_true(stat.oldest_read_commits > 0);
	store_maintain(s);
	store_stat(s, &stat);
	assert_int_equal(stat.oldest_read_commits, 0);
	store_close(s);
}

/* A copy is made beside its user, opens by itself, and can be read while another has it open. */
static void test_copy(void **state)
{
	struct store *s = open_fresh(state), *copy;
	struct kv *kv;
	struct err err;
	int fd;

	assert_int_equal(put(s, 1, 100000, false, &err), 0);
	assert_int_equal(put(s, 2, 100000, true, &err), 0);
	mkdir("copy", 0700);
	fd = open("copy/store.mdb", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unlink("copy/store.mdb-lock");
	assert_int_equal(store_copy(s, fd, &err), 0);
	close(fd);
	assert_int_equal(put(s, 1, 50000, false, &err), 0);
	for (int read_only = 0; read_only < 2; read_only++) {
		if (store_kv_open_lmdb(&kv, "copy", read_only ? 0 : BUDGET, 0, &err) ||
		    store_open(&copy, kv, BUDGET, FORMAT, &err))
			fail_msg("%s", err.message);
		assert_int_equal(status_of(copy, 1), STORE_READY);
		assert_int_equal(status_of(copy, 2), STORE_READY);
		assert_int_equal(put(copy, 3, 100000, false, &err) != 0, read_only);
		store_close(copy);
	}
	store_close(s);
}

/* --- threads --------------------------------------------------------------------------------- */

struct race {
	struct store *s;
	atomic_bool stop;
};

static void *reader(void *arg)
{
	struct race *race = arg;
	struct err err;
	uintptr_t seen = 0;

	for (uint32_t i = 0; !atomic_load(&race->stop); i++) {
		struct build_id id = id_of(1 + i % 20);
		struct store_read *r;
		struct store_table t;

		if (store_read_begin(race->s, &r, &err))
			return arg;
		if (store_table(r, &id, &t, &err) < 0)
			seen = 1;
		store_read_end(r);
		store_note_used(race->s, &id, i);
	}
	return seen ? arg : NULL;
}

static void test_threads(void **state)
{
	struct race race = {.s = open_fresh(state)};
	pthread_t threads[3];
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &race), 0);
	for (uint32_t i = 0; i < 60; i++) {
		if (put(race.s, 1 + i % 20, 300000, false, &err))
			fail_msg("%s", err.message);
		store_maintain(race.s);
	}
	atomic_store(&race.stop, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	store_close(race.s);
}

/* A request that takes long, under a full store: puts wait for it and evict no more than before. */
static void *slow_reader(void *arg)
{
	struct race *race = arg;
	struct timespec t = {0, 500000000};
	struct store_read *r;

	if (store_read_begin(race->s, &r, NULL))
		return arg;
	atomic_store(&race->stop, true);
	nanosleep(&t, NULL);
	store_read_end(r);
	return NULL;
}

static void test_slow_reader(void **state)
{
	struct race race = {.s = open_fresh(state)};
	struct store_stat stat;
	pthread_t thread;
	struct err err;
	void *failed;

	for (uint32_t i = 1; i < 30; i++)
		assert_int_equal(put(race.s, i, 300000, false, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, slow_reader, &race), 0);
	while (!atomic_load(&race.stop))
		sched_yield();
	for (uint32_t i = 30; i < 60; i++)
		if (put(race.s, i, 300000, false, &err))
			fail_msg("table %u: %s", i, err.message);
	pthread_join(thread, &failed);
	assert_null(failed);
	store_stat(race.s, &stat);
	assert_true(stat.ready_count >= 7);
	store_close(race.s);
}

/* cmocka passes the engine on, and frees nothing. */
#define ON(engine, test)                                                           \
	{                                                                          \
#test " on " #engine, test, NULL, NULL, (void *)(uintptr_t)&engine \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON(lmdb, test_put_get),        ON(memory, test_put_get),
		ON(lmdb, test_order),          ON(memory, test_order),
		ON(lmdb, test_numbers),        ON(memory, test_numbers),
		ON(lmdb, test_eviction),       ON(memory, test_eviction),
		ON(lmdb, test_full_of_pinned), ON(memory, test_full_of_pinned),
		ON(lmdb, test_missing),        ON(memory, test_missing),
		ON(lmdb, test_missing_bound),  ON(memory, test_missing_bound),
		ON(lmdb, test_threads),        ON(memory, test_threads),
		ON(lmdb, test_slow_reader),    ON(memory, test_slow_reader),
		ON(lmdb, test_reopen),         ON(lmdb, test_truncated),
		ON(lmdb, test_damaged),        ON(lmdb, test_scrub),
		ON(lmdb, test_disk_floor),     ON(lmdb, test_oldest_read),
		ON(lmdb, test_copy),           ON(lmdb, test_killed_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
