/* SPDX-License-Identifier: Apache-2.0 */
/* What is believed of a process whose records may be missing. */
#include "events.h"
#include "limits.h"
#include "procs.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define CODE   0x1000

static const char *scan_path; /* what /proc has at CODE; NULL: the process is gone */
static bool scan_is_library, scan_is_cut;
static uint64_t scan_code;      /* memory of code that the program makes ends there; 0: has none */
static struct build_id id_told; /* what the kernel says of it, when it is asked */
static uint64_t clock_ns;

static int fake_scan(void *ctx _unused_, uint32_t pid _unused_, struct modules *modules,
		     size_t most _unused_, struct procscan *ret)
{
	const struct build_id none = {.kind = BUILD_ID_NONE};
	struct mapping row = {.start = CODE, .end = CODE + 0x1000};

	if (!scan_path)
		return -ESRCH;
	ret->maps = mappings_new();
	row.module = module_get(modules, &none, NULL, scan_path, strlen(scan_path));
	assert_true(mappings_add(&ret->maps, &row));
	if (scan_is_library)
		module_unref(row.module);
	else
		ret->exe = row.module;
	if (scan_code) {
		row = (struct mapping){.start = 2 * CODE, .end = scan_code};
		row.module = module_get(modules, &none, NULL, "", 0);
		assert_true(mappings_add(&ret->maps, &row));
		module_unref(row.module);
	}
	ret->is_cut = scan_is_cut;
	return 0;
}

static int fake_id(void *ctx _unused_, uint32_t tid _unused_, const struct mapping *m _unused_,
		   uint64_t pc _unused_, struct build_id *ret)
{
	if (!scan_path)
		return -ESRCH;
	*ret = id_told;
	return id_told.len > 0;
}

static uint64_t fake_now(void *ctx _unused_)
{
	return clock_ns;
}

static const struct procs_source fake = {.scan = fake_scan, .id = fake_id, .now_ns = fake_now};

/* A poll ends, and the next one reads at now_ns what it reads. */
static void begin_poll(struct procs *ps, uint64_t now_ns)
{
	procs_poll(ps, clock_ns);
	clock_ns = now_ns;
	procs_begin(ps, now_ns);
}

static void lose(struct procs *ps, uint64_t from_ns, uint64_t until_ns)
{
	struct event e = {.kind = EVENT_LOST, .time_ns = from_ns};

	e.lost.until_ns = until_ns;
	procs_event(ps, &e);
}

static void exec(struct procs *ps, uint64_t time_ns, uint32_t pid)
{
	procs_event(ps, &(struct event){.kind = EVENT_COMM,
					.time_ns = time_ns,
					.pid = pid,
					.tid = pid,
					.comm = {.is_exec = true},
					.data = "x",
					.data_len = 1});
}

static void map(struct procs *ps, uint64_t time_ns, uint32_t pid, const char *path)
{
	procs_event(ps, &(struct event){.kind = EVENT_MAP,
					.time_ns = time_ns,
					.pid = pid,
					.tid = pid,
					.map = {.start = CODE, .end = CODE + 0x1000},
					.data = path,
					.data_len = strlen(path)});
}

/* At that time the kernel sees a file with that id at CODE. */
static void hint(struct procs *ps, uint64_t time_ns, uint32_t pid, const char *id)
{
	struct event_hint row = {.pc = CODE, .len = 1};

	memcpy(row.id, id, sizeof(row.id));
	procs_event(ps, &(struct event){.kind = EVENT_HINT,
					.time_ns = time_ns,
					.pid = pid,
					.hint = {.start_ns = 1},
					.data = &row,
					.data_len = sizeof(row)});
}

/* What a sample of that time at CODE is in; "": in nothing that is known. */
static const char *path_at(struct procs *ps, uint64_t time_ns, uint32_t pid)
{
	struct event e = {.kind = EVENT_SAMPLE, .time_ns = time_ns, .pid = pid};
	const struct proc *p;
	const struct mapping *m;

	e.sample.start_ns = 1;
	p = procs_of_sample(ps, &e);
	m = procs_find(p, CODE);
	return m ? m->module->path : "";
}

static void begin(struct procs *ps)
{
	clock_ns = 10 * SECOND;
	scan_path = "/a";
	procs_init(ps, &fake, NULL);
	procs_poll(ps, clock_ns - 1);
	assert_string_equal(path_at(ps, 9 * SECOND, 7), "/a"); /* nothing was lost */
}

/* What was there for long, and is there, was there between. */
static void test_steady(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	lose(&ps, 18 * SECOND, 19 * SECOND);
	for (uint64_t at = 18; at < 22; at++)
		assert_string_equal(path_at(&ps, at * SECOND, 7), "/a");
	/* And under losses that do not end. */
	for (uint64_t at = 22; at < 40; at++) {
		begin_poll(&ps, (at + 1) * SECOND);
		lose(&ps, at * SECOND, at * SECOND + 1);
		assert_string_equal(path_at(&ps, at * SECOND + 1, 7), "/a");
	}
	procs_done(&ps);
}

/* What is read afterwards is not told of samples before, and the other way round. */
static void test_changed(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	scan_path = "/b";
	assert_string_equal(path_at(&ps, 17 * SECOND, 7), "/a");
	lose(&ps, 18 * SECOND, 19 * SECOND);
	assert_string_equal(path_at(&ps, 18 * SECOND, 7), "");
	assert_string_equal(path_at(&ps, 20 * SECOND - 1, 7), "");
	begin_poll(&ps, 21 * SECOND);
	assert_string_equal(path_at(&ps, 20 * SECOND, 7), "/b");
	/* One that is as young as that is not believed at the next loss, and the one after it: that
	 * it is there each time may be chance. */
	for (uint64_t at = 21; at < 27; at += 2) {
		begin_poll(&ps, (at + 1) * SECOND);
		lose(&ps, at * SECOND, at * SECOND + 1);
		assert_string_equal(path_at(&ps, at * SECOND + 2, 7), "");
		begin_poll(&ps, (at + 2) * SECOND);
		assert_string_equal(path_at(&ps, (at + 1) * SECOND, 7), "/b");
	}
	begin_poll(&ps, 31 * SECOND);
	lose(&ps, 30 * SECOND, 30 * SECOND + 1);
	assert_string_equal(path_at(&ps, 30 * SECOND + 2, 7), "/b");
	procs_done(&ps);
}

/* A record that came is older than what was read, or tells what is so now. */
static void test_records_beside(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	scan_path = "/b";
	lose(&ps, 18 * SECOND, 19 * SECOND);
	assert_string_equal(path_at(&ps, 18 * SECOND, 7), "");
	map(&ps, 18 * SECOND + 5, 7, "/c"); /* while others may be missing */
	assert_string_equal(path_at(&ps, 18 * SECOND + 6, 7), "");
	/* Of one that is read behind it, what was read holds; of one that cannot be, what was told.
	 */
	map(&ps, 19 * SECOND + 5, 7, "/d");
	assert_string_equal(path_at(&ps, 19 * SECOND + 6, 7), "");
	assert_string_equal(path_at(&ps, 20 * SECOND, 7), "/b");
	ps.scans_left = 0;
	lose(&ps, 21 * SECOND, 22 * SECOND);
	map(&ps, 21 * SECOND + 5, 7, "/c");
	assert_string_equal(path_at(&ps, 22 * SECOND, 7), "");
	map(&ps, 22 * SECOND + 5, 7, "/d");
	assert_string_equal(path_at(&ps, 22 * SECOND + 6, 7), "/d");
	ps.scans_left = LIMIT_SCANS;
	/* As is the case with a program that begins in the middle of it, and later. */
	begin_poll(&ps, 33 * SECOND);
	lose(&ps, 30 * SECOND, 31 * SECOND);
	exec(&ps, 30 * SECOND + 1, 8);
	map(&ps, 30 * SECOND + 2, 8, "/e");
	assert_string_equal(path_at(&ps, 30 * SECOND + 3, 8), "");
	exec(&ps, 34 * SECOND, 8);
	map(&ps, 34 * SECOND, 8, "/f");
	assert_string_equal(path_at(&ps, 34 * SECOND + 1, 8), "/f");
	procs_done(&ps);
}

/* One that cannot be read any more has what was there for long. */
static void test_gone(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	exec(&ps, 17 * SECOND, 8);
	map(&ps, 17 * SECOND, 8, "/young");
	assert_string_equal(path_at(&ps, 17 * SECOND, 8), "/young");
	scan_path = NULL;
	lose(&ps, 18 * SECOND, 19 * SECOND);
	assert_string_equal(path_at(&ps, 18 * SECOND, 7), "/a");
	assert_string_equal(path_at(&ps, 18 * SECOND, 8), "");
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
}

static const char first_id[] = "12345678901234567890", other_id[] = "abcdefghijklmnopqrst";

/* A hint gives no id to what may be another file. What it confirms is there at its tick, and the
 * program from then on. */
static void test_hints(void **state _unused_)
{
	struct procs ps;
	const struct proc *p;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	scan_path = "/b";
	id_told = (struct build_id){.kind = BUILD_ID_GNU, .len = 20};
	memcpy(id_told.bytes, other_id, id_told.len);
	lose(&ps, 18 * SECOND, 19 * SECOND);
	hint(&ps, 18 * SECOND + 1, 7, first_id); /* /a was there */
	assert_string_equal(path_at(&ps, 18 * SECOND + 2, 7), "");
	hint(&ps, 18 * SECOND + 3, 7, other_id);
	assert_string_equal(path_at(&ps, 18 * SECOND + 2, 7), "");
	assert_string_equal(path_at(&ps, 18 * SECOND + 4, 7), "/b");
	hint(&ps, 18 * SECOND + 5, 7, first_id); /* again? */
	assert_string_equal(path_at(&ps, 18 * SECOND + 6, 7), "");
	p = procs_of_sample(
		&ps, &(struct event){.kind = EVENT_SAMPLE, .pid = 7, .time_ns = 20 * SECOND});
	assert_memory_equal(procs_find(p, CODE)->module->id.bytes, other_id, 20);
	/* What was told of the parent is nothing to its child, which may have become another
	 * program. */
	begin_poll(&ps, 30 * SECOND);
	hint(&ps, 26 * SECOND, 7, other_id);
	lose(&ps, 28 * SECOND, 29 * SECOND);
	procs_event(&ps, &(struct event){.kind = EVENT_FORK,
					 .time_ns = 28 * SECOND + 1,
					 .pid = 8,
					 .tid = 8,
					 .fork = {.parent_pid = 7}});
	scan_path = NULL;
	assert_string_equal(path_at(&ps, 28 * SECOND + 2, 7), "/b");
	assert_string_equal(path_at(&ps, 28 * SECOND + 2, 8), "");
	/* Of one that is gone unseen, a hint is all that is known. */
	hint(&ps, 28 * SECOND + 3, 9, first_id);
	assert_string_equal(path_at(&ps, 28 * SECOND + 4, 9), MODULE_PATH_UNKNOWN);
	hint(&ps, 28 * SECOND + 5, 9, other_id);
	assert_string_equal(path_at(&ps, 28 * SECOND + 6, 9), "");
	hint(&ps, 28 * SECOND + 7, 9, first_id);
	assert_string_equal(path_at(&ps, 28 * SECOND + 8, 9), MODULE_PATH_UNKNOWN);
	assert_string_equal(path_at(&ps, 28 * SECOND + 9, 9), "");
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	id_told.len = 0;
}

/* A library is there at the tick of a hint; the program is if one ever told so, before the loss
 * too. */
static void test_hints_of_libraries(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	begin_poll(&ps, 20 * SECOND);
	scan_path = "/b";
	scan_is_library = true;
	id_told = (struct build_id){.kind = BUILD_ID_GNU, .len = 20};
	memcpy(id_told.bytes, other_id, id_told.len);
	lose(&ps, 18 * SECOND, 19 * SECOND);
	hint(&ps, 18 * SECOND + 1, 7, other_id);
	assert_string_equal(path_at(&ps, 18 * SECOND + 2, 7), "/b");
	assert_string_equal(path_at(&ps, 18 * SECOND + 3, 7), "");
	begin_poll(&ps, 30 * SECOND);
	scan_path = "/program";
	exec(&ps, 26 * SECOND, 8);
	map(&ps, 26 * SECOND, 8, "/program");
	exec(&ps, 26 * SECOND, 9);
	map(&ps, 26 * SECOND, 9, "/program");
	hint(&ps, 26 * SECOND + 1, 8, first_id);
	lose(&ps, 27 * SECOND, 28 * SECOND);
	scan_is_library = false;
	assert_string_equal(path_at(&ps, 27 * SECOND + 1, 8), "/program");
	assert_string_equal(path_at(&ps, 27 * SECOND + 1, 9), "");
	/* It may have become another one, and nobody can look. */
	exec(&ps, 32 * SECOND, 8);
	map(&ps, 32 * SECOND, 8, "/program");
	hint(&ps, 32 * SECOND + 1, 8, first_id);
	begin_poll(&ps, 36 * SECOND);
	lose(&ps, 33 * SECOND, 34 * SECOND);
	scan_path = NULL;
	assert_string_equal(path_at(&ps, 33 * SECOND + 1, 8), "");
	/* What is only known by a hint has no name while it can still be read. */
	ps.scans_left = 0;
	scan_path = "/program";
	hint(&ps, 33 * SECOND + 2, 10, "third id third id 20");
	assert_string_equal(path_at(&ps, 33 * SECOND + 3, 10), "");
	procs_done(&ps);
	id_told.len = 0;
}

/* Process 8 in a storm of records that began with it: a round at now_ns, which lost what came since
 * the one before, and finds `path`. Returns a time between. */
static uint64_t begin_round(struct procs *ps, uint64_t now_ns, const char *path)
{
	const uint64_t before_ns = clock_ns;

	begin_poll(ps, now_ns);
	lose(ps, before_ns, now_ns - 1);
	scan_path = path;
	return (before_ns + now_ns) / 2;
}

/* What a sample of that round is in. */
static const char *path_in_round(struct procs *ps, uint64_t now_ns, const char *path)
{
	const uint64_t time_ns = begin_round(ps, now_ns, path);

	return path_at(ps, time_ns, 8);
}

#define ROUND (SECOND / 4)

/* So many rounds that read the same; how many of the samples are in it. */
static size_t storm(struct procs *ps, size_t rounds, const char *path)
{
	size_t placed = 0;

	for (size_t i = 0; i < rounds; i++) {
		const char *in = path_in_round(ps, clock_ns + ROUND, path);

		assert_true(!*in || !strcmp(in, path));
		placed += *in != 0;
	}
	return placed;
}

/* Eight readings, over two seconds, with the last one behind the sample. */
static void test_agreed(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	scan_is_library = true;
	assert_int_equal(storm(&ps, 9, "/b"), 0); /* the sample of the ninth: 1.875 s */
	assert_int_equal(storm(&ps, 20, "/b"), 20);
	/* What the last reading lies behind is known, though records are missing again. */
	ps.scans_left = 0;
	lose(&ps, clock_ns - ROUND, clock_ns + 1);
	assert_string_equal(path_at(&ps, clock_ns, 8), "/b");
	assert_string_equal(path_at(&ps, clock_ns + 1, 8), "");
	ps.scans_left = LIMIT_SCANS;
	/* Many in a short time are no more than one, and a few in a long time no more than they
	 * are. */
	procs_done(&ps);
	begin(&ps);
	for (uint64_t i = 1; i < 20; i++)
		assert_string_equal(path_in_round(&ps, clock_ns + SECOND / 10, "/b"), "");
	procs_done(&ps);
	begin(&ps);
	for (size_t i = 1; i < 8; i++)
		assert_string_equal(path_in_round(&ps, clock_ns + SECOND, "/b"), "");
	assert_string_equal(path_in_round(&ps, clock_ns + SECOND, "/b"), "/b");
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	scan_is_library = false;
}

/* One that takes turns is not believed; one that stays with one for long, when it was wrong to, the
 * longer the later. */
static void test_agreed_turns(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(storm(&ps, 1 + i % 7, i % 2 ? "/b" : "/c"), 0);
	assert_int_equal(storm(&ps, 1, "/c"), 0);
	assert_int_equal(storm(&ps, 30, "/b"), 30 - 9);
	assert_int_equal(storm(&ps, 1, "/c"), 0);
	assert_int_equal(storm(&ps, 30, "/b"), 30 - 15);
	assert_int_equal(storm(&ps, 1, "/c"), 0);
	assert_int_equal(storm(&ps, 50, "/b"), 50 - 31);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(storm(&ps, 1, "/c"), 0);
		assert_int_equal(storm(&ps, 80, "/b"), 80 - 63);
	}
	/* Another program is another matter. */
	exec(&ps, clock_ns + 1, 8);
	assert_int_equal(storm(&ps, 30, "/b"), 30 - 9);
	procs_done(&ps);
}

/* Whatever says that something else was there, or may have been. */
static void test_agreed_anew(void **state _unused_)
{
	struct event later = {.kind = EVENT_MAP, .pid = 8, .tid = 8, .data = "/c", .data_len = 2};
	struct events q;
	struct procs ps;

	begin(&ps);
	events_init(&q);
	ps.queue = &q;
	scan_is_library = true;
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	map(&ps, clock_ns - 1, 8, "/b"); /* it was read behind that */
	assert_int_equal(storm(&ps, 1, "/b"), 0);
	assert_int_equal(storm(&ps, 10, "/b"), 10 - 8);
	/* Programs that make code do nothing else. */
	for (size_t i = 1; i < 6; i++) {
		scan_code = (2 + i) * CODE;
		map(&ps, clock_ns - 1, 8, "//anon");
		assert_int_equal(storm(&ps, 1, "/b"), 1);
	}
	scan_code = 0;
	exec(&ps, clock_ns + 1, 8);
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	/* A record that is still to come. */
	later.map.start = CODE;
	later.map.end = 2 * CODE;
	later.map.inode = 1;
	later.time_ns = clock_ns + ROUND - 1;
	assert_true(events_add(&q, &later));
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	/* There is more than was read. */
	scan_is_cut = true;
	assert_int_equal(storm(&ps, 1, "/b"), 0);
	scan_is_cut = false;
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	assert_int_equal(storm(&ps, 1, NULL), 0); /* it could not be read */
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	procs_done(&ps);
	events_done(&q);
	scan_is_library = false;
}

/* A hint of another file; and what a process starts is like itself, if it is found so. */
static void test_agreed_told(void **state _unused_)
{
	struct procs ps;

	begin(&ps);
	scan_is_library = true;
	id_told = (struct build_id){.kind = BUILD_ID_GNU, .len = 20};
	memcpy(id_told.bytes, other_id, id_told.len);
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	hint(&ps, begin_round(&ps, clock_ns + ROUND, "/b"), 8, other_id);
	assert_int_equal(storm(&ps, 1, "/b"), 1);
	hint(&ps, begin_round(&ps, clock_ns + ROUND, "/b"), 8, first_id);
	assert_int_equal(storm(&ps, 10, "/b"), 1);
	for (uint32_t pid = 9; pid < 11; pid++) {
		procs_event(&ps, &(struct event){.kind = EVENT_FORK,
						 .time_ns = clock_ns + 1,
						 .pid = pid,
						 .tid = pid,
						 .fork = {.parent_pid = 8}});
		lose(&ps, clock_ns, clock_ns + 2);
		begin_poll(&ps, clock_ns + ROUND);
		scan_path = pid == 9 ? "/b" : "/c";
		assert_string_equal(path_at(&ps, clock_ns - 1, pid), pid == 9 ? "/b" : "");
	}
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	scan_is_library = false;
	id_told.len = 0;
}

/* Nothing was lost, and what is read is of a later time than the sample. */
static void test_read_late(void **state _unused_)
{
	struct event e = {.kind = EVENT_MAP, .pid = 7, .tid = 7, .data = "/b", .data_len = 2};
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, &q);
	clock_ns = 10 * SECOND;
	e.map.start = CODE;
	e.map.end = CODE + 0x1000;
	e.time_ns = 9 * SECOND;
	assert_true(events_add(&q, &e));
	e.time_ns = 8 * SECOND;
	e.pid = 8; /* another one's */
	assert_true(events_add(&q, &e));
	scan_path = "/b";
	hint(&ps, 7 * SECOND - 1, 7, first_id);
	assert_string_equal(path_at(&ps, 7 * SECOND, 7), "");
	assert_string_equal(path_at(&ps, 7 * SECOND, 9), "/b");
	assert_string_equal(path_at(&ps, 8 * SECOND, 8), "/b");
	/* What it starts has what it had then, which is not known. */
	procs_event(&ps, &(struct event){.kind = EVENT_FORK,
					 .time_ns = 7 * SECOND + 1,
					 .pid = 10,
					 .tid = 10,
					 .fork = {.parent_pid = 7}});
	scan_path = NULL;
	assert_string_equal(path_at(&ps, 9 * SECOND, 10), "");
	map(&ps, 9 * SECOND, 7, "/b");
	assert_string_equal(path_at(&ps, 9 * SECOND, 7), "/b");
	assert_int_equal(procs_find(procs_of_sample(&ps, &(struct event){.kind = EVENT_SAMPLE,
									 .time_ns = 9 * SECOND,
									 .pid = 7}),
				    CODE)
				 ->module->id.len,
			 0);
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	events_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),         cmocka_unit_test(test_changed),
		cmocka_unit_test(test_records_beside), cmocka_unit_test(test_gone),
		cmocka_unit_test(test_hints),          cmocka_unit_test(test_hints_of_libraries),
		cmocka_unit_test(test_agreed),         cmocka_unit_test(test_agreed_turns),
		cmocka_unit_test(test_agreed_anew),    cmocka_unit_test(test_agreed_told),
		cmocka_unit_test(test_read_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
