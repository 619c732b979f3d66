/* SPDX-License-Identifier: Apache-2.0 */
/* Which file a pc belonged to at the time of a sample, from records in any order of arrival. */
#include "events.h"
#include "file_notes.h"
#include "limits.h"
#include "procs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int scan_calls;
static const char *scan_path; /* NULL: the process is gone; "": it has no mappings */
static bool scan_first_ended;

/* What /proc would say: one mapping of scan_path at 0x1000. */
static int fake_scan(void *ctx _unused_, uint32_t pid _unused_, struct modules *modules,
		     size_t most _unused_, struct procscan *ret)
{
	struct build_id id = {.kind = BUILD_ID_GNU, .len = 4};
	struct mapping row = {.start = 0x1000, .end = 0x2000};

	scan_calls++;
	if (!scan_path)
		return -ESRCH;
	ret->maps = mappings_new();
	ret->first_ended = scan_first_ended;
	if (!*scan_path)
		return 0;
	row.module = module_get(modules, &id, NULL, scan_path, strlen(scan_path));
	assert_true(mappings_add(&ret->maps, &row));
	ret->exe = row.module;
	strcpy(ret->comm, "scanned");
	return 0;
}

static int id_calls;
static struct build_id id_told; /* what the kernel says of any mapping; empty: nothing */
static bool id_is_gone;         /* the process, when it is asked */

static int fake_id(void *ctx _unused_, uint32_t tid _unused_, const struct mapping *m _unused_,
		   uint64_t pc _unused_, struct build_id *ret)
{
	id_calls++;
	if (id_is_gone)
		return -ESRCH;
	*ret = id_told;
	return id_told.len > 0;
}

static const struct procs_source fake = {.scan = fake_scan, .id = fake_id};

static void map(struct events *q, uint64_t time_ns, uint32_t pid, uint64_t start, uint64_t end,
		const char *path)
{
	struct event e = {
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid,
		.kind = EVENT_MAP,
		.map = {.start = start,
			.end = end,
			.file_off = start / 16,
			.dev = 1,
			.inode = 7,
			.generation = 3},
		.data = path,
		.data_len = strlen(path),
	};

	assert_true(events_add(q, &e));
}

static void fork_to(struct events *q, uint64_t time_ns, uint32_t parent, uint32_t pid)
{
	struct event e = {.time_ns = time_ns, .pid = pid, .tid = pid, .kind = EVENT_FORK};

	e.fork.parent_pid = parent;
	assert_true(events_add(q, &e));
}

static void exec(struct events *q, uint64_t time_ns, uint32_t pid, const char *comm)
{
	struct event e = {
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid,
		.kind = EVENT_COMM,
		.comm = {.is_exec = true},
		.data = comm,
		.data_len = strlen(comm),
	};

	assert_true(events_add(q, &e));
}

static void end(struct events *q, uint64_t time_ns, uint32_t pid)
{
	assert_true(events_add(
		q,
		&(struct event){.time_ns = time_ns, .pid = pid, .tid = pid, .kind = EVENT_EXIT}));
}

/* Everything older than `until` happens. */
static void play(struct procs *ps, struct events *q, uint64_t until)
{
	const struct event *e;

	while ((e = events_next(q, until)))
		procs_event(ps, e);
	events_compact(q);
}

/* The path that holds pc now, "" for none, and *ret_off the offset in it. */
static const char *path_at(struct procs *ps, uint32_t pid, uint64_t start_ns, uint64_t pc,
			   uint64_t *ret_off)
{
	struct event e = {.time_ns = 1000000, .pid = pid, .kind = EVENT_SAMPLE};
	const struct mapping *m;
	struct proc *p;

	e.sample.start_ns = start_ns;
	p = procs_of_sample(ps, &e);
	assert_non_null(p);
	m = mappings_find(p->maps, pc);
	if (ret_off)
		*ret_off = m ? pc - m->start + m->file_off : 0;
	return m ? m->module->path : "";
}

static bool add(struct mappings **m, uint64_t start, uint64_t end, uint64_t off, struct module *of)
{
	return mappings_add(m, &(struct mapping){start, end, off, of, false, false, 0, 0});
}

static void test_overlap(void **state)
{
	struct modules ms;
	struct mappings *m = mappings_new(), *shared;
	struct build_id none = {.kind = BUILD_ID_NONE};
	struct module *a, *b;

	(void)state;
	modules_init(&ms);
	a = module_get(&ms, &none, NULL, "/a", 2);
	b = module_get(&ms, &none, NULL, "/b (deleted)", 12);
	assert_string_equal(b->path, "/b");
	assert_ptr_equal(module_get(&ms, &none, NULL, "/a", 2), a);
	module_unref(a);
	assert_true(add(&m, 0x1000, 0x5000, 0x100, a));
	assert_false(add(&m, 0x1000, 0x1000, 0, a));
	shared = mappings_ref(m);
	/* Cut in two: the left part keeps its offset, the right one moves on. */
	assert_true(add(&m, 0x2000, 0x3000, 0, b));
	assert_int_equal(shared->count, 1); /* the other owner sees nothing of it */
	mappings_unref(shared);
	assert_int_equal(m->count, 3);
	assert_ptr_equal(mappings_find(m, 0x1fff)->module, a);
	assert_ptr_equal(mappings_find(m, 0x2000)->module, b);
	assert_ptr_equal(mappings_find(m, 0x3000)->module, a);
	assert_int_equal(mappings_find(m, 0x3000)->file_off, 0x2100);
	assert_null(mappings_find(m, 0xfff));
	assert_null(mappings_find(m, 0x5000));
	/* Over everything. */
	assert_true(add(&m, 0, 0x9000, 0, b));
	assert_int_equal(m->count, 1);
	/* Over the ends of two. */
	assert_true(add(&m, 0x9000, 0xa000, 0, a));
	assert_true(add(&m, 0x8000, 0x9800, 0x40, b));
	assert_int_equal(m->count, 3);
	assert_int_equal(mappings_find(m, 0x9800)->file_off, 0x800);
	mappings_unref(m);
	module_unref(a);
	module_unref(b);
	assert_int_equal(ms.count, 0);
	modules_done(&ms);
}

static void test_order_of_arrival(void **state)
{
	struct events q;
	struct procs ps;
	uint64_t off;

	(void)state;
	events_init(&q);
	procs_init(&ps, &fake, NULL);
	/* The ring of one CPU has the mappings after the exec, that of another the exec. */
	map(&q, 30, 7, 0x400000, 0x500000, "/bin/new");
	map(&q, 10, 7, 0x400000, 0x600000, "/bin/old");
	exec(&q, 20, 7, "new");
	play(&ps, &q, 30); /* what is at the horizon waits */
	assert_string_equal(path_at(&ps, 7, 1, 0x400000, NULL), "");
	map(&q, 25, 7, 0x400000, 0x401000, "/bin/between");
	play(&ps, &q, 100);
	assert_string_equal(path_at(&ps, 7, 1, 0x400010, &off), "/bin/new");
	assert_int_equal(off, 0x40010);
	assert_string_equal(path_at(&ps, 7, 1, 0x500000, NULL), "");
	procs_done(&ps);
	events_done(&q);
}

static void test_fork(void **state _unused_)
{
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	scan_path = NULL;
	exec(&q, 1, 7, "seven");
	map(&q, 2, 7, 0x1000, 0x2000, "/a");
	fork_to(&q, 3, 7, 8);
	map(&q, 4, 8, 0x3000, 0x4000, "/child");
	map(&q, 5, 7, 0x3000, 0x4000, "/parent");
	fork_to(&q, 6, 8, 9);
	exec(&q, 7, 8, "eight");
	play(&ps, &q, 100);
	scan_calls = 0;
	assert_string_equal(path_at(&ps, 7, 1, 0x1000, NULL), "/a");
	assert_string_equal(path_at(&ps, 7, 1, 0x3000, NULL), "/parent");
	assert_string_equal(path_at(&ps, 9, 3, 0x1000, NULL), "/a");
	assert_string_equal(path_at(&ps, 9, 3, 0x3000, NULL), "/child");
	assert_string_equal(path_at(&ps, 8, 2, 0x1000, NULL), ""); /* exec cleared it */
	assert_int_equal(scan_calls, 0);                           /* the records told everything */
	procs_done(&ps);
	events_done(&q);
}

static void test_pid_reuse(void **state _unused_)
{
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	scan_path = "/scanned";
	exec(&q, 1, 7, "seven");
	map(&q, 2, 7, 0x1000, 0x2000, "/first");
	end(&q, 3, 7);
	play(&ps, &q, 100);
	assert_string_equal(path_at(&ps, 7, 50, 0x1000, NULL), "/first"); /* a little late */
	/* A fork of the same pid begins anew, though the old one is not forgotten yet. */
	exec(&q, 101, 6, "six");
	map(&q, 102, 6, 0x1000, 0x2000, "/second");
	fork_to(&q, 103, 6, 7);
	play(&ps, &q, 200);
	assert_string_equal(path_at(&ps, 7, 103, 0x1000, NULL), "/second");
	/* Without a record the start of the process tells, and /proc is asked. */
	scan_calls = 0;
	assert_string_equal(path_at(&ps, 7, 999, 0x1000, NULL), "/scanned");
	assert_int_equal(scan_calls, 1);
	procs_done(&ps);
	events_done(&q);
}

static void test_exit_is_forgotten(void **state _unused_)
{
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	for (uint32_t pid = 1; pid <= 1000; pid++) {
		exec(&q, pid, pid, "x");
		map(&q, pid, pid, 0x1000, 0x2000, "/bin/x");
		end(&q, pid + 1, pid);
	}
	play(&ps, &q, 10000);
	assert_int_equal(ps.count, 1000);
	assert_int_equal(ps.modules.count, 1);
	procs_poll(&ps, 2000);
	assert_int_equal(ps.count, 1000);
	procs_poll(&ps, UINT64_C(10000000000));
	assert_int_equal(ps.count, 0);
	assert_int_equal(ps.modules.count, 0);
	procs_done(&ps);
	events_done(&q);
}

/* What its first thread leaves behind lives as long as others give samples. */
static void test_first_thread_ends(void **state _unused_)
{
	const uint64_t second = 1000000000;
	struct event sample = {.pid = 7, .tid = 8, .kind = EVENT_SAMPLE};
	struct events q;
	struct procs ps;
	struct proc *p;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	scan_path = NULL;
	exec(&q, 1, 7, "seven");
	map(&q, 2, 7, 0x1000, 0x2000, "/a");
	end(&q, second, 7);
	play(&ps, &q, 2 * second);
	for (uint64_t at = 2; at < 30; at += 2) {
		sample.time_ns = at * second;
		p = procs_of_sample(&ps, &sample);
		assert_non_null(mappings_find(p->maps, 0x1000));
		assert_string_equal(p->exe->path, "/a");
		procs_poll(&ps, (at + 1) * second);
	}
	assert_int_equal(ps.ended_count, 1);
	procs_poll(&ps, 60 * second);
	assert_int_equal(ps.count, 0);
	assert_int_equal(ps.ended_count, 0);
	/* Known by a scan only, through another thread: no exit will be told. */
	scan_path = "/b";
	scan_first_ended = true;
	sample.time_ns = 61 * second;
	p = procs_of_sample(&ps, &sample);
	assert_non_null(mappings_find(p->maps, 0x1000));
	/* Nothing is left when its last thread ends: what is known stays. */
	scan_path = "";
	scan_first_ended = false;
	assert_true(events_add(&q, &(struct event){.time_ns = 62 * second, .kind = EVENT_LOST}));
	play(&ps, &q, 63 * second);
	p = procs_of_sample(&ps, &sample);
	assert_non_null(mappings_find(p->maps, 0x1000));
	assert_string_equal(p->exe->path, "/b");
	procs_poll(&ps, 90 * second);
	assert_int_equal(ps.count, 0);
	procs_done(&ps);
	events_done(&q);
}

static void test_lost_and_scan(void **state _unused_)
{
	struct events q;
	struct procs ps;

	scan_calls = 0;
	events_init(&q);
	procs_init(&ps, &fake, NULL);
	scan_path = "/before";
	/* One that forks is read when it does: what it started may be gone when it is looked at. */
	fork_to(&q, 50, 7, 8);
	end(&q, 55, 8);
	play(&ps, &q, 60);
	assert_int_equal(scan_calls, 1);
	assert_string_equal(path_at(&ps, 8, 50, 0x1000, NULL), "/before");
	map(&q, 40, 7, 0x1000, 0x2000, "/older than the scan");
	map(&q, 60, 7, 0x5000, 0x6000, "/newer");
	play(&ps, &q, 100);
	assert_string_equal(path_at(&ps, 7, 1, 0x1000, NULL), "/before");
	assert_string_equal(path_at(&ps, 7, 1, 0x5000, NULL), "/newer");
	assert_true(events_add(&q, &(struct event){.time_ns = 110, .kind = EVENT_LOST}));
	play(&ps, &q, 200);
	scan_path = "/after";
	assert_string_equal(path_at(&ps, 7, 1, 0x1000, NULL), "/after");
	/* An unknown process is read at its first sample, and no more of them than allowed: many at
	 * once, few for long. */
	scan_calls = 0;
	for (uint32_t pid = 100; pid < 100 + 2 * LIMIT_SCANS_BURST; pid++)
		path_at(&ps, pid, 1, 0x1000, NULL);
	assert_int_equal(scan_calls, LIMIT_SCANS_BURST - 2);
	procs_poll(&ps, 200);
	scan_calls = 0;
	for (uint32_t pid = 100; pid < 100 + 2 * LIMIT_SCANS_BURST; pid++)
		path_at(&ps, pid, 1, 0x1000, NULL);
	assert_int_equal(scan_calls, LIMIT_SCANS);
	procs_poll(&ps, 200);
	assert_string_equal(path_at(&ps, 100 + 2 * LIMIT_SCANS_BURST - 1, 1, 0x1000, NULL),
			    "/after");
	/* One that is gone stays without mappings, and is not asked again. */
	scan_path = NULL;
	assert_string_equal(path_at(&ps, 5000, 1, 0x1000, NULL), "");
	scan_calls = 0;
	assert_string_equal(path_at(&ps, 5000, 1, 0x1000, NULL), "");
	assert_int_equal(scan_calls, 0);
	procs_done(&ps);
	events_done(&q);
}

/* A sample from before an exec that is known already: /proc shows another program by now. */
static void test_scan_before_exec(void **state)
{
	struct events q;
	struct procs ps;

	(void)state;
	events_init(&q);
	procs_init(&ps, &fake, &q);
	scan_path = "/new";
	exec(&q, 2000000, 7, "new");
	map(&q, 2000001, 7, 0x1000, 0x2000, "/new");
	scan_calls = 0;
	assert_string_equal(path_at(&ps, 7, 1, 0x1000, NULL), ""); /* at 1000000 */
	assert_int_equal(scan_calls, 0);
	assert_string_equal(path_at(&ps, 8, 1, 0x1000, NULL), "/new");
	play(&ps, &q, 3000000);
	assert_string_equal(path_at(&ps, 7, 1, 0x1000, NULL), "/new");
	procs_done(&ps);
	events_done(&q);
}

static const uint8_t hinted[EVENT_ID_LEN] = "12345678901234567890";

static void hint(struct events *q, uint64_t time_ns, uint32_t pid, uint64_t pc, uint64_t off,
		 const uint8_t *id)
{
	struct event_hint row = {.pc = pc, .file_off = off};
	struct event e = {
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid,
		.kind = EVENT_HINT,
		.hint = {.namespaces = pid / 100},
		.data = &row,
		.data_len = sizeof(row),
	};

	memcpy(row.id, id, sizeof(row.id));
	assert_true(events_add(q, &e));
}

static struct module *module_at(struct procs *ps, uint32_t pid, uint64_t pc)
{
	struct event e = {.time_ns = 1000000, .pid = pid, .kind = EVENT_SAMPLE};
	const struct mapping *m = mappings_find(procs_of_sample(ps, &e)->maps, pc);

	assert_non_null(m);
	return m->module;
}

/* What the kernel said at a tick is what a file is, in all of the process, and only there. */
static void test_hints(void **state)
{
	const uint8_t other[EVENT_ID_LEN] = "abcdefghijklmnopqrst",
		      padded[EVENT_ID_LEN] = "12345678",
		      ends_in_zero[EVENT_ID_LEN] = "1234567890123456789";
	struct module *m;
	struct events q;
	struct procs ps;
	uint64_t version;

	(void)state;
	events_init(&q);
	procs_init(&ps, &fake, NULL);
	id_calls = 0;
	exec(&q, 1, 7, "seven");
	map(&q, 2, 7, 0x1000, 0x2000, "/a");
	map(&q, 2, 7, 0x4000, 0x5000, "/a");
	map(&q, 2, 7, 0x6000, 0x7000, "/b");
	hint(&q, 3, 7, 0x1010, 0x110, hinted);
	hint(&q, 3, 7, 0x6010, 0x111, hinted); /* elsewhere in the file: not of that mapping */
	hint(&q, 3, 7, 0x9000, 0, hinted);     /* not known */
	exec(&q, 4, 8, "eight");
	map(&q, 5, 8, 0x1000, 0x2000, "/a");
	play(&ps, &q, 10);
	m = module_at(&ps, 7, 0x1000);
	assert_int_equal(m->id.len, sizeof(hinted));
	assert_memory_equal(m->id.bytes, hinted, sizeof(hinted));
	assert_string_equal(m->path, "/a");
	assert_ptr_equal(module_at(&ps, 7, 0x4000), m);
	assert_int_equal(module_at(&ps, 7, 0x6000)->id.len, 0);
	assert_int_equal(module_at(&ps, 8, 0x1000)->id.len, 0);
	/* Written over in place: what was placed before is another version. */
	version = procs_of_sample(&ps, &(struct event){.pid = 7})->maps->version;
	hint(&q, 11, 7, 0x1010, 0x110, hinted);
	play(&ps, &q, 12);
	assert_int_equal(procs_of_sample(&ps, &(struct event){.pid = 7})->maps->version, version);
	hint(&q, 12, 7, 0x1010, 0x110, other);
	play(&ps, &q, 20);
	assert_memory_equal(module_at(&ps, 7, 0x1000)->id.bytes, other, sizeof(other));
	assert_true(procs_of_sample(&ps, &(struct event){.pid = 7})->maps->version != version);
	/* How long one is that ends in zeros only the kernel knows; else it is as linkers do. */
	assert_int_equal(id_calls, 0);
	id_told = (struct build_id){.kind = BUILD_ID_GNU, .len = 12, .bytes = "12345678"};
	hint(&q, 21, 7, 0x6010, 0x610, padded);
	play(&ps, &q, 30);
	assert_int_equal(id_calls, 1);
	assert_int_equal(module_at(&ps, 7, 0x6000)->id.len, 12);
	id_is_gone = true;
	hint(&q, 31, 8, 0x1010, 0x110, padded);
	play(&ps, &q, 40);
	assert_int_equal(module_at(&ps, 8, 0x1000)->id.len, 8);
	hint(&q, 41, 8, 0x1010, 0x110, ends_in_zero);
	play(&ps, &q, 50);
	assert_int_equal(module_at(&ps, 8, 0x1000)->id.len, 20);
	id_is_gone = false;
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	events_done(&q);
}

/* `len` bytes of a file: the stack has frames in the first and in the last of them. */
static void hint_range(struct events *q, uint64_t time_ns, uint32_t pid, uint64_t pc, uint64_t off,
		       uint64_t len, const uint8_t *id)
{
	struct event_hint *h;

	hint(q, time_ns, pid, pc, off, id);
	h = (void *)(q->now.data.p + q->now.data.len - sizeof(*h));
	h->len = len;
}

/* Of a process that is gone before anybody looked, a file lies where hints say, and between; with
 * the path that another process has it under. */
static void test_hints_of_gone(void **state _unused_)
{
	const uint8_t other[EVENT_ID_LEN] = "abcdefghijklmnopqrst";
	uint64_t off, version;
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	scan_path = NULL;
	hint_range(&q, 10, 7, 0x40001010, 0x2010, 0x2020, hinted);
	play(&ps, &q, 20);
	assert_string_equal(path_at(&ps, 7, 0, 0x40000fff, NULL), "");
	assert_string_equal(path_at(&ps, 7, 0, 0x40001000, &off), MODULE_PATH_UNKNOWN);
	assert_int_equal(off, 0x2000);
	assert_string_equal(path_at(&ps, 7, 0, 0x40003fff, &off), MODULE_PATH_UNKNOWN);
	assert_int_equal(off, 0x4fff);
	assert_string_equal(path_at(&ps, 7, 0, 0x40004000, NULL), "");
	assert_memory_equal(module_at(&ps, 7, 0x40001000)->id.bytes, hinted, sizeof(hinted));
	/* The same again changes nothing; another address makes it longer. */
	version = procs_of_sample(&ps, &(struct event){.pid = 7})->maps->version;
	hint_range(&q, 21, 7, 0x40001010, 0x2010, 0x2020, hinted);
	play(&ps, &q, 30);
	assert_int_equal(procs_of_sample(&ps, &(struct event){.pid = 7})->maps->version, version);
	hint_range(&q, 31, 7, 0x40007123, 0x8123, 1, hinted);
	play(&ps, &q, 40);
	assert_string_equal(path_at(&ps, 7, 0, 0x40005500, &off), MODULE_PATH_UNKNOWN);
	assert_int_equal(off, 0x6500);
	assert_int_equal(procs_of_sample(&ps, &(struct event){.pid = 7})->maps->count, 1);
	/* Elsewhere it is another mapping; what another file has is not taken; and what cannot be.
	 */
	hint_range(&q, 41, 7, 0x50007123, 0x8123, 1, hinted);
	hint_range(&q, 42, 7, 0x40006123, 0x8123, 0x100000, other);
	hint_range(&q, 43, 7, UINT64_MAX - 10, 1, 100, hinted);
	hint_range(&q, 43, 7, 0x60000010, 1, 1, hinted);
	play(&ps, &q, 50);
	assert_string_equal(path_at(&ps, 7, 0, 0x50007000, NULL), MODULE_PATH_UNKNOWN);
	assert_string_equal(path_at(&ps, 7, 0, 0x50006fff, NULL), "");
	assert_string_equal(path_at(&ps, 7, 0, 0x40010000, NULL), "");
	assert_string_equal(path_at(&ps, 7, 0, 0x60000010, NULL), "");
	/* What it forks may be there yet; else it has as much. */
	fork_to(&q, 51, 7, 8);
	fork_to(&q, 51, 7, 9);
	play(&ps, &q, 60);
	assert_string_equal(path_at(&ps, 8, 0, 0x40002000, NULL), MODULE_PATH_UNKNOWN);
	scan_path = "/scanned";
	assert_string_equal(path_at(&ps, 9, 0, 0x1000, NULL), "/scanned");
	/* Another process has the file under a path. */
	exec(&q, 61, 10, "ten");
	map(&q, 62, 10, 0x1000, 0x2000, "/a");
	hint(&q, 63, 10, 0x1010, 0x110, hinted);
	scan_path = NULL;
	hint_range(&q, 64, 11, 0x40001010, 0x2010, 1, hinted);
	play(&ps, &q, 70);
	assert_string_equal(path_at(&ps, 11, 0, 0x40001000, NULL), "/a");
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	events_done(&q);
}

static bool identify(struct procs *ps, uint32_t pid, uint64_t pc)
{
	struct proc *p = procs_of_sample(ps, &(struct event){.pid = pid});

	return procs_identify(ps, p, mappings_find(p->maps, pc), pc, pid);
}

/* The kernel is asked once for each file of a process; one that is gone does not keep it from being
 * asked of another that shares the mappings. */
static void test_identify(void **state _unused_)
{
	const struct build_id found = {.kind = BUILD_ID_GNU, .len = 4, .bytes = "foun"};
	struct module *m, *later;
	struct events q;
	struct procs ps;

	events_init(&q);
	procs_init(&ps, &fake, NULL);
	exec(&q, 1, 7, "seven");
	map(&q, 2, 7, 0x1000, 0x2000, "/a");
	map(&q, 2, 7, 0x3000, 0x4000, "/b");
	fork_to(&q, 3, 7, 8);
	exec(&q, 3, 9, "nine");
	map(&q, 4, 9, 0x5000, 0x6000, "/c");
	play(&ps, &q, 10);
	id_calls = 0;
	id_is_gone = true;
	assert_false(identify(&ps, 8, 0x1000));
	assert_false(identify(&ps, 8, 0x3000));
	assert_int_equal(id_calls, 1);
	id_is_gone = false;
	id_told.len = 0;
	assert_false(identify(&ps, 7, 0x1000));
	assert_false(identify(&ps, 7, 0x1000));
	assert_int_equal(id_calls, 2);
	id_told = (struct build_id){.kind = BUILD_ID_GNU, .len = 4, .bytes = "told"};
	assert_true(identify(&ps, 7, 0x3000));
	assert_int_equal(id_calls, 3);
	assert_memory_equal(module_at(&ps, 8, 0x3000)->id.bytes, "told", 4);
	ps.asks_left = 0; /* too many at once */
	assert_false(identify(&ps, 9, 0x5000));
	procs_poll(&ps, 500);
	assert_int_equal(ps.asks_left, LIMIT_ID_ASKS);
	assert_true(identify(&ps, 9, 0x5000));
	assert_int_equal(ps.asks_left, LIMIT_ID_ASKS - 1);
	/* What was found in a file is not believed for long of what is mapped later. */
	m = module_at(&ps, 7, 0x1000);
	procs_poll(&ps, 1000);
	module_set_id(m, &found);
	exec(&q, 11, 9, "nine");
	map(&q, 12, 9, 0x1000, 0x2000, "/a");
	play(&ps, &q, 20);
	assert_ptr_equal(module_at(&ps, 9, 0x1000), m);
	procs_poll(&ps, 1000 + MODULE_FOUND_KEEP_NS);
	exec(&q, 21, 10, "ten");
	map(&q, 22, 10, 0x1000, 0x2000, "/a");
	play(&ps, &q, 30);
	later = module_at(&ps, 10, 0x1000);
	assert_ptr_not_equal(later, m);
	assert_int_equal(later->id_state, MODULE_ID_UNASKED);
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	events_done(&q);
}

/* Of a process that is gone and told nothing: what the kernel told of the file about then. */
static void test_build_id_cache(void **state)
{
	const uint64_t second = 1000000000, at = 100 * second;
	struct events q;
	struct procs ps;
	struct proc *p;

	(void)state;
	events_init(&q);
	procs_init(&ps, &fake, NULL);
	exec(&q, 1, 101, "told");
	map(&q, 2, 101, 0x1000, 0x2000, "/a");
	for (uint32_t pid = 102; pid <= 302; pid += 100) {
		exec(&q, 1, pid, "gone");
		map(&q, 2, pid, 0x1000, 0x2000, "/a");
		map(&q, 2, pid, 0x3000, 0x4000, "/b");
	}
	hint(&q, at, 101, 0x1010, 0x110, hinted);
	hint(&q, at, 102, 0x9000, 0, hinted); /* of nothing, but its namespaces */
	hint(&q, at, 202, 0x9000, 0, hinted);
	play(&ps, &q, 2 * at);
	p = procs_of_sample(&ps, &(struct event){.pid = 102});
	assert_false(
		procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x1000), at)); /* it lives */
	p->is_silent = true;
	assert_false(procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x3000), at));
	assert_false(procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x1000), at - 3 * second));
	assert_false(procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x1000), at + 3 * second));
	assert_true(procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x1000), at - second));
	assert_memory_equal(module_at(&ps, 102, 0x1000)->id.bytes, hinted, sizeof(hinted));
	/* In other namespaces the same path and inode may be another file. */
	for (uint32_t pid = 202; pid <= 302; pid += 100) {
		p = procs_of_sample(&ps, &(struct event){.pid = pid});
		p->is_silent = true;
		assert_false(procs_id_from_cache(&ps, p, mappings_find(p->maps, 0x1000), at));
	}
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	events_done(&q);
}

static void test_queue(void **state)
{
	struct events q;
	const struct event *e;
	uint64_t last = 0, seen = 0, x = 1;

	(void)state;
	events_init(&q);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 100; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			/* Up to two rounds late or early. */
			map(&q, (uint64_t)round * 100 + 200 + (x >> 33) % 200, 1, 1, 2, "/file");
		}
		while ((e = events_next(&q, (uint64_t)round * 100 + 200))) {
			assert_true(e->time_ns >= last);
			assert_int_equal(e->data_len, 5);
			assert_memory_equal(e->data, "/file", 5);
			last = e->time_ns;
			seen++;
		}
		events_compact(&q);
	}
	while ((e = events_next(&q, UINT64_MAX)))
		seen++;
	assert_int_equal(seen, 5000);
	assert_int_equal(q.refused, 0);
	events_done(&q);
}

/* Both ways of reading /proc say the same of this process. */
static void test_procscan(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	struct build_id in_file, told;
	struct procscan best, text;
	struct mapping moved;
	struct modules ms;
	struct stat st;
	int fd;

	(void)state;
	modules_init(&ms);
	assert_int_equal(procscan_read((uint32_t)getpid(), PROCSCAN_BEST, &ms, 64, &best), 0);
	assert_int_equal(procscan_read((uint32_t)getpid(), PROCSCAN_TEXT, &ms, 64, &text), 0);
	assert_int_equal(best.maps->count, text.maps->count);
	assert_true(best.maps->count >= 3); /* this program, libc, the dynamic linker */
	for (size_t i = 0; i < best.maps->count; i++) {
		const struct mapping *a = &best.maps->rows[i], *b = &text.maps->rows[i];

		assert_int_equal(a->start, b->start);
		assert_int_equal(a->end, b->end);
		assert_string_equal(a->module->path, b->module->path);
		if (a->module->kind != MODULE_FILE)
			continue;
		assert_int_equal(a->file_off, b->file_off);
		assert_int_equal(stat(b->module->path, &st), 0);
		assert_int_equal(b->module->file.inode, st.st_ino);
		assert_ptr_equal(a->module, b->module);
		/* The kernel says what the file says; not when another one was mapped there. */
		fd = open(b->module->path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(file_id_of(fd, &in_file), 0);
		close(fd);
		assert_int_equal(procscan_id(pid, PROCSCAN_BEST, a, a->start, &told), 1);
		assert_true(build_id_equal(&told, &in_file));
		assert_int_equal(procscan_id(pid, PROCSCAN_TEXT, a, a->start, &told), 0);
		moved = *a;
		moved.file_off += 4096;
		assert_int_equal(procscan_id(pid, PROCSCAN_BEST, &moved, a->start, &told), 0);
		a->module->file.inode++;
		assert_int_equal(procscan_id(pid, PROCSCAN_BEST, a, a->start, &told), 0);
		a->module->file.inode--;
		assert_true(procscan_id(INT32_MAX, PROCSCAN_BEST, a, a->start, &told) < 0);
	}
	assert_non_null(best.exe);
	assert_string_equal(best.exe->path, text.exe->path);
	assert_non_null(mappings_find(best.maps, (uintptr_t)test_procscan));
	assert_ptr_equal(mappings_find(best.maps, (uintptr_t)test_procscan)->module, best.exe);
	assert_string_equal(best.comm, "test_procs");
	module_unref(best.exe);
	module_unref(text.exe);
	mappings_unref(best.maps);
	mappings_unref(text.maps);
	assert_int_equal(ms.count, 0);
	assert_true(procscan_read(INT32_MAX, PROCSCAN_BEST, &ms, 64, &best) < 0);
	modules_done(&ms);
}

static void test_notes(void **state)
{
	static const uint8_t notes[] = {
		4, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 'X', 'Y', 'Z', 0,   1,   2, 3, 4, 5, 0,
		0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0,   0,   'G', 'N', 'U', 0, 9, 8, 7, 6,
	};
	struct build_id id;

	(void)state;
	assert_int_equal(file_notes_find(bytes_of(notes, sizeof(notes)), 4, &id), 1);
	assert_int_equal(id.len, 4);
	assert_memory_equal(id.bytes, "\x09\x08\x07\x06", 4);
	for (size_t len = 0; len < sizeof(notes); len++)
		assert_int_equal(file_notes_find(bytes_of(notes, len), 4, &id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_order_of_arrival),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_exit_is_forgotten),
		cmocka_unit_test(test_first_thread_ends),
		cmocka_unit_test(test_lost_and_scan),
		cmocka_unit_test(test_scan_before_exec),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_hints_of_gone),
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_build_id_cache),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_procscan),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
