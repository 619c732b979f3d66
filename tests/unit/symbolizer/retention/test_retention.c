/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of retention remove, and what stays. */
#include "retention.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "io.h"
#include "service_fixture.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)

enum {
	TABLE_LEN = 16
};

static uint64_t begin_ns;

/* A table of `n`, uploaded so many hours ago; NULL: no such text. */
struct stored {
	uint32_t n;
	uint64_t hours;
	const char *name, *version, *env;
	bool pinned;
};

static void put_stored(struct service *s, const struct stored *t)
{
	static uint8_t table[TABLE_LEN];
	Rawstack__V1__Binary meta = RAWSTACK__V1__BINARY__INIT;
	Rawstack__V1__Label label = RAWSTACK__V1__LABEL__INIT, *labels = &label;
	uint8_t packed[256];
	struct store_binary b = {.id = id_of(t->n),
				 .status = STORE_READY,
				 .pinned = t->pinned,
				 .changed_ns = begin_ns - t->hours * HOUR_NS,
				 .table_len = sizeof(table),
				 .meta = packed};
	struct err err;

	meta.uploaded_unix_ns = b.changed_ns;
	if (t->name)
		meta.name = text(t->name);
	if (t->version)
		meta.version = text(t->version);
	if (t->env) {
		label.key = text("env");
		label.value = text(t->env);
		meta.labels = &labels;
		meta.n_labels = 1;
	}
	b.meta_len = rawstack__v1__binary__pack(&meta, packed);
	if (store_put(s->store, &b, table, &err))
		fail_msg("%s", err.message);
}

static bool has_table(struct service *s, uint32_t n)
{
	const struct build_id id = id_of(n);
	struct store_binary b;
	struct store_read *r;
	int rc;

	assert_int_equal(store_read_begin(s->store, &r, NULL), 0);
	rc = store_binary(r, &id, &b, NULL);
	store_read_end(r);
	assert_int_equal(rc, 1);
	return b.status == STORE_READY;
}

static struct service *open_service(void)
{
	const struct service_config config = {
		.data_dir = "data", .store_bytes = 64 << 20, .memory_store = true};

	begin_ns = io_system()->real_ns(NULL);
	return open_with(&config);
}

static void set_rules(struct retention *r, const char *text_of_rules)
{
	struct retain_rules rules = {.count = 0};
	struct err err;

	if (retain_rules_add(&rules, "retain", text_of_rules, &err))
		fail_msg("%s", err.message);
	retention_set(r, &rules);
}

/* Steps until three more rounds are done, so that all has gone that has to go. */
static void finish_rounds(struct retention *r)
{
	struct retention_stat stat;
	uint64_t until;

	retention_stat(r, &stat);
	until = stat.rounds + 3;
	for (int i = 0; stat.rounds < until; i++) {
		assert_in_range(i, 0, 100000);
		retention_step(r, 0);
		retention_stat(r, &stat);
	}
}

/* Applies rules, and compares what stays with a text of numbers: "1 3 ". */
static void expect_left(struct service *s, const struct stored *tables, size_t count,
			const char *rules, const char *left)
{
	struct retention *r = retention_new(s->store, s->queue, NULL);
	char found[400] = "";
	size_t len = 0;

	assert_non_null(r);
	set_rules(r, rules);
	finish_rounds(r);
	retention_free(r);
	for (size_t i = 0; i < count; i++)
		if (has_table(s, tables[i].n))
			len += (size_t)snprintf(found + len, sizeof(found) - len, "%u ",
						tables[i].n);
	if (strcmp(found, left) != 0)
		fail_msg("%s: '%s' stay, not '%s'", rules, found, left);
}

static void test_rules(void **state _unused_)
{
	static const struct stored tables[] = {
		{1, 100, "nginx", "1.0", "prod", false}, {2, 90, "nginx", "1.1", "dev", false},
		{3, 80, "nginx", "1.2", "prod", false},  {4, 70, "redis", "7", "dev", false},
		{5, 60, "redis", "7", "prod", false},    {6, 50, "redis", "8", "dev", true},
		{7, 40, NULL, NULL, NULL, false},        {8, 30, "nginx", "1.0", "dev", false},
		{9, 20, "nginx", NULL, "dev", false},    {10, 10, "tool", "1", "dev", false},
	};
	static const struct {
		const char *rules, *left;
	} rows[] = {
		{"age 1000h", "1 2 3 4 5 6 7 8 9 10 "},
		{"age 45h", "6 7 8 9 10 "},
		{"age 45h label env=dev", "1 3 5 6 7 8 9 10 "},
		{"age 45h name redis", "1 2 3 6 7 8 9 10 "},
		{"age 45h, forever name nginx", "1 2 3 6 7 8 9 10 "},
		{"age 45h, age 15h label env=dev, forever label env=prod", "1 3 5 6 7 10 "},
		{"unused 45h", "6 7 8 9 10 "},
		{"count 4", "6 7 8 9 10 "},
		{"count 1 label env=dev", "1 3 5 6 7 10 "},
		/* Each takes those that the other one leaves. */
		{"count 1 label env=dev, count 3", "5 6 7 10 "},
		{"age 75h, count 5", "5 6 7 8 9 10 "},
		/* A version is as new as its last upload. */
		{"releases 2", "1 3 4 5 6 7 8 9 10 "},
		{"releases 1", "1 4 5 6 7 8 9 10 "},
		{"releases 1 name nginx label env=dev", "1 3 4 5 6 7 8 9 10 "},
		{"releases 1 name redis", "1 2 3 4 5 6 7 8 9 10 "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct service *s = open_service();

		for (size_t k = 0; k < ARRAY_LEN(tables); k++)
			put_stored(s, &tables[k]);
		expect_left(s, tables, ARRAY_LEN(tables), rows[i].rules, rows[i].left);
		assert_true(service_close(s));
	}
}

/* Of a table that goes the record stays, with the rule; it is neither served nor listed. */
static void test_told(void **state _unused_)
{
	static const struct stored t = {1, 100, "nginx", "1.0", "prod", false};
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	const struct build_id id = id_of(1);
	struct service *s = open_service();
	struct retention *r = retention_new(s->store, s->queue, NULL);
	struct retention_stat stat;
	Rawstack__V1__Binary *binary;
	struct err err;

	assert_non_null(r);
	put_stored(s, &t);
	set_rules(r, "age 2d label env=prod");
	finish_rounds(r);
	get.build_id = bytes_of_id(&id);
	assert_int_equal(service_get(s, &get, &arena, &binary, &err), 0);
	assert_int_equal(binary->status, RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_PURGED);
	assert_memory_equal(binary->reason.data, "retain age 2d label env=prod",
			    binary->reason.len);
	assert_memory_equal(binary->name.data, "nginx", binary->name.len);
	retention_stat(r, &stat);
	assert_int_equal(stat.removed[RETAIN_AGE], 1);
	assert_int_equal(stat.removed[RETAIN_COUNT], 0);
	/* It may come again. */
	put_stored(s, &(struct stored){1, 1, "nginx", "1.0", "prod", false});
	finish_rounds(r);
	assert_true(has_table(s, 1));
	retention_free(r);
	assert_true(service_close(s));
}

/* A use saves a table, also one that is not written yet. */
static void test_used(void **state _unused_)
{
	static const struct stored tables[] = {{1, 100, "a", "1", NULL, false},
					       {2, 90, "b", "1", NULL, false},
					       {3, 80, "c", "1", NULL, false}};
	struct service *s = open_service();
	const struct build_id id = id_of(1);

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		put_stored(s, &tables[i]);
	store_note_used(s->store, &id, begin_ns - HOUR_NS);
	expect_left(s, tables, ARRAY_LEN(tables), "count 2", "1 3 ");
	store_maintain(s->store);
	expect_left(s, tables, ARRAY_LEN(tables), "unused 2h", "1 ");
	assert_true(service_close(s));
}

/* More tables than a round remembers, and more than a step may remove: exactly those go that were
 * used longest ago, and no step costs more than it may. */
static void test_many(void **state _unused_)
{
	enum {
		MANY = RETENTION_OLDEST + 300,
		LEFT = 100
	};
	struct service *s = open_service();
	struct retention *r = retention_new(s->store, s->queue, NULL);
	struct store_stat before, after;

	assert_non_null(r);
	for (uint32_t i = 0; i < MANY; i++) /* in no order of id */
		put_stored(s, &(struct stored){i * 7919 % MANY, i + 1, NULL, NULL, NULL, false});
	set_rules(r, "count 100");
	do {
		store_stat(s->store, &before);
		retention_step(r, 0);
		store_stat(s->store, &after);
		assert_in_range(before.ready_count - after.ready_count, 0, RETENTION_REMOVALS);
	} while (after.ready_count > LEFT);
	finish_rounds(r);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(has_table(s, i * 7919 % MANY), i < LEFT);
	retention_free(r);
	assert_true(service_close(s));
}

/* More names than a round remembers. */
static void test_many_names(void **state _unused_)
{
	enum {
		NAMES = 1400, /* with 100 versions each there is room for 655 */
		OLD = 120
	};
	struct service *s = open_service();
	struct retention *r = retention_new(s->store, s->queue, NULL);
	struct store_stat stat;
	char name[32], version[32];
	struct stored t = {.name = name, .version = version};

	assert_non_null(r);
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name-%u", i);
		snprintf(version, sizeof(version), "1");
		t.n = i;
		t.hours = i;
		put_stored(s, &t);
	}
	for (uint32_t i = 0; i < OLD; i++) {
		snprintf(name, sizeof(name), "name-7");
		snprintf(version, sizeof(version), "2.%u", i);
		t.n = NAMES + i;
		t.hours = 1000 + i;
		put_stored(s, &t);
	}
	set_rules(r, "releases 100");
	for (int i = 0; i < 6; i++)
		finish_rounds(r);
	store_stat(s->store, &stat);
	assert_int_equal(stat.ready_count, NAMES + 99);
	assert_true(has_table(s, 7));
	for (uint32_t i = 0; i < OLD; i++)
		assert_int_equal(has_table(s, NAMES + i), i < 99);
	retention_free(r);
	assert_true(service_close(s));
}

/* Without rules nothing goes; new rules count from the next step on. */
static void test_changed(void **state _unused_)
{
	static const struct retain_rules none = {.count = 0};
	static const struct stored tables[] = {{1, 100, "a", "1", NULL, false},
					       {2, 90, "b", "1", NULL, false}};
	struct service *s = open_service();
	struct retention *r = retention_new(s->store, s->queue, NULL);

	assert_non_null(r);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		put_stored(s, &tables[i]);
	for (int i = 0; i < 10; i++)
		retention_step(r, 0);
	assert_true(has_table(s, 1));
	set_rules(r, "age 95h");
	for (int i = 0; i < 3; i++)
		retention_step(r, UINT64_MAX);
	assert_false(has_table(s, 1));
	retention_set(r, &none);
	for (int i = 0; i < 10; i++)
		retention_step(r, 0);
	assert_true(has_table(s, 2));
	retention_free(r);
	assert_true(service_close(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_rules, teardown),
		cmocka_unit_test_teardown(test_told, teardown),
		cmocka_unit_test_teardown(test_used, teardown),
		cmocka_unit_test_teardown(test_many, teardown),
		cmocka_unit_test_teardown(test_many_names, teardown),
		cmocka_unit_test_teardown(test_changed, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
