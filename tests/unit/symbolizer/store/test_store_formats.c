/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of several formats in one store: what a program of one version leaves for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store_priv.h"

enum {
	BUDGET = 4 << 20,
	TABLE_MAX = 1 << 20,
	OLD = 3,
	NEW = 4,
};

static uint8_t table[TABLE_MAX];

static struct build_id id_of(uint8_t n)
{
	const uint8_t bytes[20] = {1, n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static struct store *open_as(uint16_t format)
{
	struct store *s = NULL;
	struct kv *kv;
	struct err err;

	if (store_kv_open_lmdb(&kv, ".", BUDGET, 0, &err) ||
	    store_open(&s, kv, BUDGET, format, &err))
		fail_msg("%s", err.message);
	return s;
}

static struct store *open_fresh(uint16_t format)
{
	unlink("store.mdb");
	unlink("store.mdb-lock");
	return open_as(format);
}

static void put(struct store *s, uint8_t n, size_t len, bool pinned, uint64_t changed_ns)
{
	struct store_binary b = {.id = id_of(n),
				 .status = STORE_READY,
				 .pinned = pinned,
				 .changed_ns = changed_ns,
				 .generation = 100u * s->format + n,
				 .table_len = len,
				 .meta = "meta",
				 .meta_len = 4};
	struct err err;

	memset(table, s->format * 16 + n, len);
	if (store_put(s, &b, table, &err))
		fail_msg("%s", err.message);
}

static struct store_binary look(struct store *s, uint8_t n)
{
	struct store_binary b = {0};
	struct build_id id = id_of(n);
	struct store_read *r;
	int rc;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	rc = store_binary(r, &id, &b, NULL);
	store_read_end(r);
	assert_in_range(rc, 0, 1);
	return b;
}

/* 1 when the table of the id is the one that was put by a program of this format, 0: none. */
static int serves(struct store *s, uint8_t n, size_t len)
{
	struct build_id id = id_of(n);
	struct store_table t;
	struct store_read *r;
	int rc;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	rc = store_table(r, &id, &t, NULL);
	if (rc == 1) {
		assert_int_equal(t.len, len);
		memset(table, s->format * 16 + n, len);
		assert_memory_equal(t.p, table, len);
	}
	store_read_end(r);
	return rc;
}

static struct store_stat stat_of(struct store *s)
{
	struct store_stat stat;

	store_stat(s, &stat);
	return stat;
}

/* Forward, back and forward again: each finds what it left, and is told what the other one has. */
static void test_side_by_side(void **state)
{
	struct store *s = open_fresh(OLD);

	(void)state;
	put(s, 1, 50000, true, 5);
	put(s, 2, 60000, false, 6);
	store_close(s);

	s = open_as(NEW);
	assert_int_equal(look(s, 1).status, STORE_OTHER);
	assert_int_equal(look(s, 1).other_format, OLD);
	assert_int_equal(look(s, 1).other_len, 50000);
	assert_int_equal(look(s, 1).table_len, 0);
	assert_true(look(s, 1).pinned);
	assert_int_equal(serves(s, 1, 0), 0);
	assert_int_equal(stat_of(s).ready_count, 0);
	assert_int_equal(stat_of(s).table_bytes, 0);
	assert_int_equal(stat_of(s).other_count, 2);
	assert_int_equal(stat_of(s).other_bytes, 110000);
	put(s, 1, 70000, true, 7);
	assert_int_equal(look(s, 1).status, STORE_READY);
	assert_int_equal(look(s, 1).generation, 401);
	assert_int_equal(look(s, 1).other_len, 50000);
	assert_int_equal(serves(s, 1, 70000), 1);
	put(s, 3, 80000, false, 8);
	assert_int_equal(stat_of(s).ready_count, 2);
	assert_int_equal(stat_of(s).table_bytes, 150000);
	assert_int_equal(stat_of(s).other_bytes, 110000);
	store_close(s);

	s = open_as(OLD);
	assert_int_equal(look(s, 1).status, STORE_READY);
	assert_int_equal(look(s, 1).generation, 301);
	assert_int_equal(serves(s, 1, 50000), 1);
	assert_int_equal(serves(s, 2, 60000), 1);
	assert_int_equal(look(s, 3).status, STORE_OTHER);
	assert_int_equal(look(s, 3).other_format, NEW);
	assert_int_equal(stat_of(s).ready_count, 2);
	assert_int_equal(stat_of(s).other_count, 2);
	put(s, 2, 61000, false, 9);
	store_close(s);

	s = open_as(NEW);
	assert_int_equal(serves(s, 1, 70000), 1);
	assert_int_equal(look(s, 2).status, STORE_OTHER);
	assert_int_equal(stat_of(s).other_bytes, 111000);
	store_close(s);
}

/* A build that failed here takes nothing from whoever could make the table. */
static void test_failed(void **state)
{
	struct store *s = open_fresh(OLD);
	const struct store_binary failed = {.id = id_of(1), .status = STORE_FAILED, .pinned = true};

	(void)state;
	put(s, 1, 50000, true, 5);
	store_close(s);
	s = open_as(NEW);
	assert_int_equal(store_put(s, &failed, NULL, NULL), 0);
	assert_int_equal(look(s, 1).status, STORE_FAILED);
	assert_int_equal(look(s, 1).other_len, 50000);
	store_close(s);
	s = open_as(OLD);
	assert_int_equal(look(s, 1).status, STORE_READY);
	assert_true(look(s, 1).pinned);
	assert_int_equal(serves(s, 1, 50000), 1);
	store_close(s);
}

/* What cannot be read here goes first, the pinned of it last; then what is not pinned. */
static void test_evicted_first(void **state)
{
	static const bool there[][6] = {
		/* after so many more: 1, 2 (pinned), 3 of the old; 4, 5 (pinned) of the new */
		{0},
		{0, true, true, true, true, true},
		{0, false, true, true, true, true},
		{0, false, true, false, true, true},
		{0, false, false, false, true, true},
		{0, false, false, false, false, true},
	};
	const size_t len = 600000; /* six fit, with what the tree takes */
	struct store *s = open_fresh(OLD);
	size_t state_at = 0;

	(void)state;
	put(s, 1, len, false, 10);
	put(s, 2, len, true, 5);
	put(s, 3, len, false, 11);
	store_close(s);
	s = open_as(NEW);
	put(s, 4, len, false, 1);
	put(s, 5, len, true, 2);
	for (uint8_t n = 6; n < 20 && state_at < ARRAY_LEN(there) - 1; n++) {
		size_t at = 0;
		bool now[6] = {0};

		put(s, n, len, false, 20);
		for (uint8_t i = 1; i <= 5; i++)
			now[i] = i < 4 ? look(s, i).other_len : look(s, i).table_len;
		while (at < ARRAY_LEN(there) && memcmp(now, there[at], sizeof(now)) != 0)
			at++;
		/* One of the states, in their order: a put may need two to go. */
		assert_in_range(at, state_at, ARRAY_LEN(there) - 1);
		state_at = at;
	}
	assert_int_equal(state_at, ARRAY_LEN(there) - 1);
	assert_int_equal(look(s, 1).status, STORE_PURGED);
	assert_int_equal(stat_of(s).other_count, 0);
	assert_int_equal(stat_of(s).other_bytes, 0);
	store_close(s);
	s = open_as(OLD); /* and says so to whoever comes back */
	assert_int_equal(look(s, 1).status, STORE_PURGED);
	assert_int_equal(serves(s, 1, 0), 0);
	store_close(s);
}

static void tell(void *ctx, const struct build_id *id, const char *what)
{
	(void)what;
	((size_t *)ctx)[id->bytes[1]]++;
}

static void note(void *ctx, const struct build_id *id)
{
	((size_t *)ctx)[id->bytes[1]]++;
}

/* One change of a table below the store. */
static void write_below(uint8_t n, uint16_t format, const void *p, size_t len)
{
	struct build_id id = id_of(n);
	struct store_key key = store_table_key(&id, format);
	struct kv_write write = {KV_TABLES, {key.bytes, key.len}, {p, len}};
	struct kv *kv;

	assert_int_equal(store_kv_open_lmdb(&kv, ".", BUDGET, 0, NULL), 0);
	assert_int_equal(kv->ops->commit(kv, &write, 1, NULL), 0);
	kv->ops->close(kv);
}

/* A delete means the binary, whoever made tables of it; a scrub takes what is damaged, and no more.
 */
static void test_delete_and_scrub(void **state)
{
	size_t found[4] = {0}, count;
	struct build_id id = id_of(1);
	struct store *s = open_fresh(OLD);

	(void)state;
	for (uint8_t n = 1; n < 4; n++)
		put(s, n, 50000, true, n);
	store_close(s);
	s = open_as(NEW);
	put(s, 1, 60000, true, 5);
	put(s, 2, 60000, true, 5);
	assert_int_equal(store_purge(s, &id, NULL), 1);
	assert_int_equal(look(s, 1).status, STORE_PURGED);
	assert_int_equal(stat_of(s).other_count, 2);
	assert_int_equal(store_scrub(s, UINT64_MAX, note, found), 0);
	store_close(s);

	memset(table, 0xee, 50000);
	write_below(2, OLD, table, 50000);
	write_below(1, OLD, table, 50000); /* no record tells of it */
	s = open_as(NEW);
	assert_int_equal(store_verify(s, tell, found, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(found[1] + found[2], 2);
	assert_int_equal(store_scrub(s, UINT64_MAX, note, found), 2);
	assert_int_equal(found[1] + found[2], 4);
	assert_int_equal(look(s, 2).status, STORE_READY);
	assert_int_equal(look(s, 2).other_len, 0);
	assert_true(look(s, 2).pinned);
	assert_int_equal(serves(s, 2, 60000), 1);
	assert_int_equal(look(s, 3).status, STORE_OTHER);
	store_close(s);
	s = open_as(OLD);
	assert_int_equal(serves(s, 1, 0), 0);
	assert_int_equal(serves(s, 2, 0), 0);
	assert_int_equal(serves(s, 3, 50000), 1);
	store_close(s);
}

/* Of one binary the newest formats stay. */
static void test_many_formats(void **state)
{
	struct store *s;

	(void)state;
	for (uint16_t format = 1; format <= STORE_FORMATS + 2; format++) {
		s = format == 1 ? open_fresh(format) : open_as(format);
		put(s, 1, 5000, false, 1);
		assert_int_equal(look(s, 1).other_len,
				 5000 * (format <= STORE_FORMATS ? format - 1 : STORE_FORMATS - 1));
		assert_int_equal(stat_of(s).other_bytes, look(s, 1).other_len);
		store_close(s);
	}
	for (uint16_t format = 1; format <= STORE_FORMATS + 2; format++) {
		size_t found[4] = {0}, count;

		s = open_as(format);
		assert_int_equal(serves(s, 1, 5000), format > 2);
		assert_int_equal(store_verify(s, tell, found, &count, NULL), 0);
		assert_int_equal(count, 0); /* nothing is left behind */
		store_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side),  cmocka_unit_test(test_failed),
		cmocka_unit_test(test_evicted_first), cmocka_unit_test(test_delete_and_scrub),
		cmocka_unit_test(test_many_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
