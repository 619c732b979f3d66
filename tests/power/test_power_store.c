/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts under the service's store: puts, purges and pins are recorded as LMDB gives them to
 * the kernel; after a cut at any step each record is as it was when it was last acknowledged, or,
 * if a change of it was under way, as that would have made it, and its table is whole. A table's
 * alias is there with it, and not before.
 * RAWSTACK_FULL=1 looks at more cuts.
 */
#include "record_libc.h"
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "limits.h"

enum {
	BUDGET = 16 << 20,
	FORMAT = 3,
	IDS = 12,
	OPS = 60,
	TABLE_MAX = 200 << 10,
};

/* What is known of each id, after each operation. */
struct known {
	enum store_status status; /* 0: nothing */
	bool pinned;
	uint32_t version; /* of the table */
};

static struct known history[OPS + 1][IDS];
static uint8_t table[TABLE_MAX];

static struct build_id id_of(uint32_t n)
{
	const uint8_t bytes[20] = {1, 2, (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

/* The alias of what a put brings. */
static struct build_id alias_of(uint32_t version)
{
	const uint8_t bytes[HTLHASH_LEN] = {3, (uint8_t)(version >> 8), (uint8_t)version};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_HTLHASH, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static size_t table_len(uint32_t version)
{
	return 5000 + version * 7919u % (TABLE_MAX - 5000);
}

static void fill_table(uint32_t version)
{
	for (size_t i = 0; i < table_len(version); i++)
		table[i] = (uint8_t)(version * 31 + i * 7 + (i >> 8));
}

static struct store *open_store(const char *dir, struct err *err)
{
	struct store *s = NULL;
	struct kv *kv;

	if (store_kv_open_lmdb(&kv, dir, BUDGET, 0, err) || store_open(&s, kv, BUDGET, FORMAT, err))
		return NULL;
	return s;
}

static int put(struct store *s, uint32_t n, uint32_t version, struct err *err)
{
	const struct store_id_aliases aliases = {{alias_of(version)}, 1};
	struct store_binary b = {
		.id = id_of(n),
		.status = STORE_READY,
		.aliases = &aliases,
		.generation = version,
		.table_len = table_len(version),
		.meta = "meta",
		.meta_len = 4,
	};

	fill_table(version);
	return store_put(s, &b, table, err);
}

/* One change, and what it makes of what is known. */
static void change(struct store *s, uint64_t *seed, uint32_t op, struct known *known)
{
	uint32_t n = (uint32_t)crash_random(seed, IDS);
	struct known *k = &known[n];
	struct build_id id = id_of(n);
	struct err err = {0};

	if (k->status == STORE_READY && crash_random(seed, 3) == 0) {
		assert_int_equal(store_purge(s, &id, &err), 1);
		*k = (struct known){.status = STORE_PURGED};
	} else if (k->status == STORE_READY && crash_random(seed, 3) == 0) {
		k->pinned = !k->pinned;
		assert_int_equal(store_pin(s, &id, k->pinned, &err), 1);
	} else {
		if (put(s, n, op + 1, &err))
			fail_msg("%s", err.message);
		*k = (struct known){.status = STORE_READY, .version = op + 1};
	}
}

static void record(struct crash_log *l, uint64_t seed)
{
	struct store *s;
	struct err err = {0};

	assert_int_equal(mkdir("recorded", 0700), 0);
	record_libc(l, "store.mdb");
	s = open_store("recorded", &err);
	if (!s)
		fail_msg("%s", err.message);
	for (uint32_t op = 0; op < OPS; op++) {
		memcpy(history[op + 1], history[op], sizeof(history[op]));
		change(s, &seed, op, history[op + 1]);
		crash_log_add(l, CRASH_MARK, 0, op + 1, NULL, 0, NULL, NULL);
	}
	record_libc(NULL, NULL);
	store_close(s);
}

static bool leads(struct store_read *r, uint32_t version, uint32_t n)
{
	const struct build_id name = alias_of(version), id = id_of(n);
	const struct build_id found = store_resolve_alias(r, &name);

	return build_id_equal(&found, &id);
}

static bool is_as(struct store_read *r, uint32_t n, const struct known *k)
{
	struct build_id id = id_of(n);
	struct store_binary b;
	struct store_table t;
	struct err err = {0};
	int rc = store_binary(r, &id, &b, &err);

	if (rc < 0)
		fail_msg("record %u: %s", n, err.message);
	if (rc == 0 || !k->status)
		return rc == 0 && !k->status;
	if (b.status != k->status)
		return false;
	if (k->status != STORE_READY)
		return true;
	if (b.generation != k->version || b.pinned != k->pinned)
		return false;
	rc = store_table(r, &id, &t, &err);
	if (rc != 1)
		fail_msg("table %u: %s", n, rc < 0 ? err.message : "not there");
	fill_table(k->version);
	assert_int_equal(t.len, table_len(k->version));
	assert_memory_equal(t.p, table, t.len);
	for (uint32_t v = 1; v <= OPS; v++)
		if (v >= k->version && leads(r, v, n) != (v == k->version))
			fail_msg("record %u of version %u: the name of version %u", n, k->version,
				 v);
	return true;
}

static void tell(void *ctx _unused_, const struct build_id *id _unused_, const char *what)
{
	print_message("%s\n", what);
}

/* acked: operations that returned. */
static void check_image(const struct crash_image *image, uint32_t acked)
{
	struct store_read *r;
	struct store *s;
	struct err err = {0};
	size_t found;
	FILE *f;

	mkdir("cut", 0700);
	unlink("cut/store.mdb");
	unlink("cut/store.mdb-lock");
	assert_int_equal(image->count, 1);
	f = fopen("cut/store.mdb", "w");
	assert_non_null(f);
	assert_int_equal(fwrite(image->files[0].p, 1, image->files[0].len, f), image->files[0].len);
	assert_int_equal(fclose(f), 0);
	s = open_store("cut", &err);
	if (!s)
		fail_msg("after %u acknowledged: %s", acked, err.message);
	assert_int_equal(store_read_begin(s, &r, &err), 0);
	for (uint32_t n = 0; n < IDS; n++)
		if (!is_as(r, n, &history[acked][n]) &&
		    !(acked < OPS && is_as(r, n, &history[acked + 1][n])))
			fail_msg("record %u is not as it was after %u changes", n, acked);
	store_read_end(r);
	/* And it goes on. */
	if (put(s, 0, 4711, &err))
		fail_msg("%s", err.message);
	if (store_verify(s, tell, NULL, &found, &err) || found)
		fail_msg("%zu found: %s", found, err.message);
	store_close(s);
}

static void test_store(void **state _unused_)
{
	const char *full = getenv("RAWSTACK_FULL");
	uint64_t seed = 31, cuts = full && full[0] == '1' ? 100000 : 120, images = 0;
	struct crash_log log = {0};
	struct crash_disk *d;
	uint32_t acked = 0;

	record(&log, 5);
	d = crash_disk_new(&log);
	for (size_t at = 0; crash_disk_step(d); at++) {
		struct crash_image image;

		if (log.entries[at].op == CRASH_MARK)
			acked = (uint32_t)log.entries[at].off;
		if (at < 2 || crash_random(&seed, log.count) >= cuts)
			continue;
		crash_disk_image(d, UINT64_MAX, &seed, &image);
		check_image(&image, acked);
		crash_image_done(&image);
		images++;
	}
	print_message("%zu steps recorded, %llu images looked at\n", log.count,
		      (unsigned long long)images);
	assert_true(images > 50 && log.count > 4 * OPS);
	crash_disk_free(d);
	crash_log_done(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_store)};
	char dir[] = "power-XXXXXX";

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
