/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases of ids in the store, on both engines; what only a file can suffer, on LMDB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "limits.h"
#include "store_fixture.h"
#include "store_priv.h"

static uint8_t content[1 << 20];

static struct build_id hash_of(uint32_t n)
{
	const uint8_t bytes[HTLHASH_LEN] = {0xaa, (uint8_t)(n >> 16), (uint8_t)(n >> 8),
					    (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_HTLHASH, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static void put_as(struct store *s, struct build_id id, enum store_status status, size_t len,
		   const struct store_id_aliases *aliases)
{
	struct store_binary b = {.id = id,
				 .status = status,
				 .generation = 7,
				 .table_len = len,
				 .aliases = aliases,
				 .meta = "meta",
				 .meta_len = 4};
	struct err err;

	if (store_put(s, &b, content, &err))
		fail_msg("%s", err.message);
}

/* Id n, whose file has one hash. */
static void put(struct store *s, uint32_t n, uint32_t hash)
{
	const struct store_id_aliases aliases = {{hash_of(hash)}, 1};

	put_as(s, id_of(n), STORE_READY, 5000, &aliases);
}

static struct build_id find(struct store *s, struct build_id name)
{
	struct store_read *r;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	name = store_resolve_alias(r, &name);
	store_read_end(r);
	return name;
}

/* Whether the hash leads to id n. */
static bool leads(struct store *s, uint32_t hash, uint32_t n)
{
	const struct build_id found = find(s, hash_of(hash)), want = id_of(n);

	return build_id_equal(&found, &want);
}

/* Whether it leads nowhere. */
static bool is_free(struct store *s, uint32_t hash)
{
	const struct build_id found = find(s, hash_of(hash)), want = hash_of(hash);

	return build_id_equal(&found, &want);
}

/* Of both directions together. */
static size_t count_entries(struct store *s)
{
	struct kv_bytes key = {NULL, 0}, value;
	struct store_read *r;
	size_t count = 0;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	while (s->kv->ops->next(r->kv, KV_META, key, &key, &value, NULL) == 1)
		count += *(const uint8_t *)key.p < ' ';
	store_read_end(r);
	return count;
}

static void tell(void *ctx, const struct build_id *id, const char *what)
{
	(void)id;
	assert_string_equal(what, "hash and build id do not lead to each other");
	++*(size_t *)ctx;
}

static void assert_unsound(struct store *s, size_t want)
{
	size_t told = 0, found;

	assert_int_equal(store_verify(s, tell, &told, &found, NULL), 0);
	assert_int_equal(found, want);
	assert_int_equal(told, want);
}

static void not_damaged(void *ctx, const struct build_id *id)
{
	(void)ctx;
	(void)id;
	fail();
}

/* A name lasts as long as the record: all answers by it are those by the id. */
static void test_lifetime(void **state)
{
	const struct engine *e = *state;
	struct store *s = open_fresh(state);
	struct store_id_aliases got;
	struct build_id id = id_of(1);
	struct store_read *r;

	assert_true(is_free(s, 10));
	put(s, 1, 10);
	put(s, 2, 20);
	put_as(s, id_of(3), STORE_READY, 5000, NULL);
	assert_true(leads(s, 10, 1) && leads(s, 20, 2));
	id = find(s, id);
	assert_int_equal(id.bytes[2], 1);
	/* A table made again, of whatever files, keeps what led to the one before it. */
	put_as(s, id_of(1), STORE_READY, 6000, NULL);
	assert_true(leads(s, 10, 1));
	put(s, 1, 11);
	assert_true(leads(s, 10, 1) && leads(s, 11, 1));
	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	store_id_aliases(r, &id, &got);
	store_read_end(r);
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ids[0].bytes[3], 11);
	assert_int_equal(got.ids[0].kind, BUILD_ID_HTLHASH);
	assert_int_equal(store_purge(s, &id, NULL), 1);
	assert_true(leads(s, 10, 1) && leads(s, 11, 1));
	put_as(s, id_of(1), STORE_FAILED, 0, NULL);
	assert_true(leads(s, 10, 1));
	assert_unsound(s, 0);
	assert_int_equal(store_scrub(s, UINT64_MAX, not_damaged, NULL), 0);
	if (e->durable) {
		store_close(s);
		s = open_budget(e, BUDGET);
	}
	assert_true(leads(s, 10, 1) && leads(s, 11, 1) && leads(s, 20, 2) && is_free(s, 30));
	store_close(s);
}

static void test_evicted(void **state)
{
	const struct store_id_aliases first = {{hash_of(10)}, 1};
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);
	struct store_binary b;
	struct store_read *r;

	put_as(s, id, STORE_READY, sizeof(content), &first);
	for (uint32_t n = 2; n < 6; n++)
		put_as(s, id_of(n), STORE_READY, sizeof(content), NULL);
	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	assert_int_equal(store_binary(r, &id, &b, NULL), 1);
	store_read_end(r);
	assert_int_equal(b.status, STORE_PURGED);
	assert_true(leads(s, 10, 1));
	store_close(s);
}

/* The newest few of an id; of another id's none. */
static void test_bound(void **state)
{
	const struct store_id_aliases two = {{hash_of(9), hash_of(6)}, 2};
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);

	for (uint32_t i = 1; i <= STORE_ID_ALIASES + 2; i++)
		put(s, 1, i);
	assert_true(is_free(s, 1) && is_free(s, 2));
	for (uint32_t i = 3; i <= STORE_ID_ALIASES + 2; i++)
		assert_true(leads(s, i, 1));
	put(s, 2, 3);
	assert_true(leads(s, 3, 1));
	assert_int_equal(store_add_id_aliases(s, &id, &two, NULL), 1);
	assert_int_equal(store_add_id_aliases(s, &id, &two, NULL), 0);
	assert_true(leads(s, 9, 1) && leads(s, 6, 1) && is_free(s, 3));
	put(s, 2, 3);
	assert_true(leads(s, 3, 2));
	id = id_of(77);
	assert_int_equal(store_add_id_aliases(s, &id, &two, NULL), 0); /* nobody knows it */
	assert_int_equal(count_entries(s), STORE_ID_ALIASES + 1 + 1 + 1);
	assert_unsound(s, 0);
	store_close(s);
}

/* What has a table of its own is itself; without one it stands in nobody's way. */
static void test_own_table(void **state)
{
	struct store *s = open_fresh(state);
	struct build_id own = hash_of(10), found;

	put_as(s, own, STORE_FAILED, 0, NULL);
	put(s, 1, 10);
	assert_true(leads(s, 10, 1));
	put_as(s, own, STORE_READY, 5000, NULL);
	assert_true(is_free(s, 10));
	assert_int_equal(store_purge(s, &own, NULL), 1);
	assert_true(leads(s, 10, 1));
	found = find(s, hash_of(10));
	assert_int_equal(found.kind, BUILD_ID_GNU);
	assert_int_equal(found.len, 20);
	store_close(s);
}

static void note(struct store *s, uint32_t hash)
{
	struct store_missing m = {.id = hash_of(hash), .weight = 5, .last_ns = 1};

	assert_int_equal(store_note_missing(s, (struct kv_bytes){NULL, 0}, &m, 1, NULL), 0);
}

static uint64_t missing_count(struct store *s)
{
	struct store_stat stat;
	struct store_missing m;
	struct store_read *r;
	const struct build_id *after = NULL;
	struct build_id at;
	uint64_t count = 0;

	assert_int_equal(store_flush_missing(s, NULL), 0);
	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	while (store_missing_next(r, after, &m, NULL) == 1) {
		at = m.id;
		after = &at;
		count++;
	}
	store_read_end(r);
	store_stat(s, &stat);
	assert_int_equal(stat.missing_count, count);
	return count;
}

/* What was missing by its hash is not, once the file came, also if that was being written down. */
static void test_missing(void **state)
{
	const struct store_id_aliases later = {{hash_of(30)}, 1};
	struct store *s = open_fresh(state);
	struct build_id id = id_of(1);

	note(s, 10);
	note(s, 20);
	note(s, 30);
	assert_int_equal(missing_count(s), 3);
	put_as(s, id, STORE_FAILED, 0, &(struct store_id_aliases){{hash_of(10)}, 1});
	assert_int_equal(missing_count(s), 3);
	put_as(s, id, STORE_READY, 5000, NULL);
	assert_int_equal(missing_count(s), 2);
	note(s, 10);
	assert_int_equal(missing_count(s), 2);
	note(s, 40);
	put(s, 4, 40);
	assert_int_equal(missing_count(s), 2);
	assert_int_equal(store_add_id_aliases(s, &id, &later, NULL), 1);
	assert_int_equal(missing_count(s), 1);
	store_close(s);
}

/* With the record of an id, the last that is known of it, its names go. */
static void test_forgotten(void **state)
{
	struct store *s = open_fresh(state);

	put(s, 1, 10);
	for (uint32_t i = 2; i < 9; i++)
		put_as(s, id_of(i), STORE_FAILED, 0,
		       &(struct store_id_aliases){{hash_of(10 * i), hash_of(10 * i + 1)}, 2});
	assert_true(leads(s, 20, 2) && leads(s, 81, 8));
	assert_int_equal(count_entries(s), 2 + 7 * 3);
	s->tombstone_count = LIMIT_TOMBSTONES; /* as if there were others */
	put_as(s, id_of(9), STORE_FAILED, 0, &(struct store_id_aliases){{hash_of(90)}, 1});
	assert_true(is_free(s, 20) && is_free(s, 81) && is_free(s, 90) && leads(s, 10, 1));
	assert_int_equal(count_entries(s), 2);
	assert_unsound(s, 0);
	store_close(s);
}

static void commit(struct store *s, enum kv_table table, struct kv_bytes key, const char *with)
{
	const struct kv_write w = {table, key, {with, with ? strlen(with) : 0}};

	assert_int_equal(s->kv->ops->commit(s->kv, &w, 1, NULL), 0);
}

/* What is in one of both directions. */
static void overwrite(struct store *s, uint8_t space, const struct build_id *id, const char *with)
{
	uint8_t key[KV_KEY_MAX] = {space};

	memcpy(key + 1, id->bytes, id->len);
	commit(s, KV_META, (struct kv_bytes){key, 1u + id->len}, with);
}

static void scrub_and_mend(struct store *s)
{
	/* Each round takes away what the one before it left alone. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_scrub(s, UINT64_MAX, not_damaged, NULL), 0);
	assert_unsound(s, 0);
	assert_true(is_free(s, 10) && is_free(s, 11) && leads(s, 20, 2));
	put(s, 1, 10);
	assert_true(leads(s, 10, 1) && leads(s, 20, 2));
	assert_unsound(s, 0);
	store_close(s);
}

/* Damage of either direction: no wrong answer, and a scrub and the next upload mend it. */
static void test_unsound(void **state)
{
	const struct build_id id = id_of(1), hash = hash_of(10);

	for (int way = 0; way < 3; way++) {
		struct store *s = open_fresh(state);

		put(s, 1, 10);
		put(s, 1, 11);
		put(s, 2, 20);
		overwrite(s, way == 2 ? 2 : 1, way == 2 ? &id : &hash, way == 1 ? NULL : "garbage");
		assert_true(way == 2 ? leads(s, 10, 1) : is_free(s, 10));
		assert_true(leads(s, 11, 1));
		/* The id without the hash, the hash, the other one without the id. */
		assert_unsound(s, way == 1 ? 1 : way == 0 ? 2 : 3);
		scrub_and_mend(s);
	}
}

/* A program that knows nothing of names forgot the record. */
static void test_left_over(void **state)
{
	const struct build_id id = id_of(1);
	const struct store_key key = store_table_key(&id, FORMAT);
	struct store *s = open_fresh(state);

	put(s, 1, 10);
	put(s, 1, 11);
	put(s, 2, 20);
	commit(s, KV_BINARIES, store_key_of(&id), NULL);
	commit(s, KV_TABLES, (struct kv_bytes){key.bytes, key.len}, NULL);
	assert_true(is_free(s, 10) && is_free(s, 11));
	assert_unsound(s, 3);
	scrub_and_mend(s);
}

/* cmocka passes the engine on, and frees nothing. */
#define ON(engine, test)                                                           \
	{                                                                          \
#test " on " #engine, test, NULL, NULL, (void *)(uintptr_t)&engine \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON(lmdb, test_lifetime),    ON(memory, test_lifetime),  ON(lmdb, test_evicted),
		ON(memory, test_evicted),   ON(lmdb, test_bound),       ON(memory, test_bound),
		ON(lmdb, test_own_table),   ON(memory, test_own_table), ON(lmdb, test_missing),
		ON(memory, test_missing),   ON(lmdb, test_unsound),     ON(memory, test_unsound),
		ON(lmdb, test_left_over),   ON(memory, test_left_over), ON(lmdb, test_forgotten),
		ON(memory, test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
