/* SPDX-License-Identifier: Apache-2.0 */
/* How much is read of processes with many mappings, whatever they do. */
#include "events.h"
#include "limits.h"
#include "procs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int scan_calls;
static size_t scan_most;      /* mappings that were asked for */
static uint64_t scan_cost_ns; /* CPU time that it takes, unless it is_cut: 1 us for each then */
static bool scan_is_cut;
static uint64_t clock_ns;

/* What /proc would say: one mapping of /scanned at 0x1000. */
static int fake_scan(void *ctx _unused_, uint32_t pid _unused_, struct modules *modules,
		     size_t most, struct procscan *ret)
{
	struct build_id id = {.kind = BUILD_ID_GNU, .len = 4};
	struct mapping row = {.start = 0x1000, .end = 0x2000};

	scan_calls++;
	scan_most = most;
	clock_ns += scan_is_cut ? most * 1000 : scan_cost_ns;
	ret->is_cut = scan_is_cut;
	ret->maps = mappings_new();
	row.module = module_get(modules, &id, NULL, "/scanned", 8);
	assert_true(mappings_add(&ret->maps, &row));
	ret->exe = row.module;
	return 0;
}

static int find_calls, find_error;
static size_t find_count; /* addresses that were passed at last */

/* What PROCMAP_QUERY would say: each page below 1 << 40 is a mapping of /asked. */
static int fake_find(void *ctx _unused_, uint32_t tid _unused_, struct modules *modules,
		     struct mappings **maps, const uint64_t *pcs, size_t count)
{
	struct build_id id = {.kind = BUILD_ID_GNU, .len = 4};

	find_calls++;
	find_count = count;
	clock_ns += 2000 * count;
	if (find_error)
		return find_error;
	for (size_t i = 0; i < count; i++) {
		struct mapping row = {.start = pcs[i] & ~UINT64_C(4095)};

		row.end = row.start + 4096;
		row.file_off = row.start;
		if (mappings_find(*maps, pcs[i]))
			continue;
		if (pcs[i] >> 40)
			break;
		row.module = module_get(modules, &id, NULL, "/asked", 6);
		if (!mappings_add(maps, &row))
			find_error = -ENOSPC;
		module_unref(row.module);
	}
	return find_error;
}

static int check_result;

static int fake_check(void *ctx _unused_, uint32_t tid _unused_,
		      const struct mappings *maps _unused_)
{
	return check_result;
}

static uint64_t fake_cpu_ns(void *ctx _unused_)
{
	return clock_ns;
}

static const struct procs_source fake = {
	.scan = fake_scan,
	.check = fake_check,
	.find = fake_find,
	.cpu_ns = fake_cpu_ns,
};

static void add_exec(struct events *q, uint64_t time_ns, uint32_t pid)
{
	assert_true(events_add(q, &(struct event){
					  .time_ns = time_ns,
					  .pid = pid,
					  .tid = pid,
					  .kind = EVENT_COMM,
					  .comm = {.is_exec = true},
				  }));
}

static void add_map(struct events *q, uint64_t time_ns, uint32_t pid, uint64_t start,
		    const char *path)
{
	assert_true(
		events_add(q, &(struct event){
				      .time_ns = time_ns,
				      .pid = pid,
				      .tid = pid,
				      .kind = EVENT_MAP,
				      .map = {.start = start, .end = start + 0x1000, .inode = 7},
				      .data = path,
				      .data_len = strlen(path),
			      }));
}

/* All that was added happens. */
static void play_all(struct procs *ps, struct events *q)
{
	const struct event *e;

	while ((e = events_next(q, UINT64_MAX)))
		procs_event(ps, e);
	events_compact(q);
}

static void begin_large(struct procs *ps)
{
	procs_init(ps, &fake, NULL);
	scan_calls = find_calls = find_error = 0;
	scan_cost_ns = 0;
	scan_is_cut = false;
	check_result = 1;
}

/* A sample with a stack of `count` frames, each called from pc + 4096 times its place + 1. */
static struct proc *sample_at(struct procs *ps, uint32_t pid, uint64_t pc, uint16_t count)
{
	uint64_t pcs[LIMIT_STACK_FRAMES];
	struct event e = {.time_ns = 1000000, .pid = pid, .kind = EVENT_SAMPLE};

	for (uint16_t i = 0; i < count; i++)
		pcs[i] = pc + i * 4096 + 1;
	e.sample.user_count = count;
	e.data = pcs;
	e.data_len = count * sizeof(pcs[0]);
	return procs_of_sample(ps, &e);
}

/* The path that holds pc now. */
static const char *path_at(struct procs *ps, uint32_t pid, uint64_t pc)
{
	const struct mapping *m = mappings_find(sample_at(ps, pid, pc, 1)->maps, pc);

	assert_non_null(m);
	return m->module->path;
}

static void lose_records(struct procs *ps)
{
	procs_event(ps, &(struct event){.time_ns = 1000000, .kind = EVENT_LOST});
}

/* Processes that take long to read share half of a fiftieth of a CPU, whatever is lost; another
 * beside them is read at once each time. */
static void test_scan_budget(void **state _unused_)
{
	const uint64_t ms = 1000000, second = 1000 * ms;
	const uint32_t many = 200;
	uint64_t now = second, spent;
	struct procs ps;

	begin_large(&ps);
	procs_poll(&ps, now);
	for (uint32_t pid = 1; pid <= many; pid++) {
		scan_is_cut = true;
		sample_at(&ps, pid, 0x1000, 1);
		assert_int_equal(scan_calls, pid); /* at first nobody knows that they are */
	}
	/* Half of it went to them, and then little of each was read. */
	assert_int_equal(scan_most, LIMIT_SCAN_FEW);
	assert_true(ps.scan_budget.left > LIMIT_SCANS_CPU_NS / 5);
	spent = clock_ns;
	scan_calls = 0;
	for (int round = 1; round <= 100; round++) {
		int before;

		now += second;
		procs_poll(&ps, now);
		lose_records(&ps);
		scan_is_cut = true;
		for (uint32_t pid = 1; pid <= many; pid++)
			sample_at(&ps, pid, 0x1000, 1);
		scan_is_cut = false;
		scan_cost_ns = ms / 20;
		before = scan_calls;
		assert_false(sample_at(&ps, 10000, 0x1000, 1)->must_scan);
		assert_int_equal(scan_calls, before + 1);
	}
	spent = clock_ns - spent;
	assert_true(spent < 100 * second / CPU_BUDGET_SHARE + (uint64_t)LIMIT_SCANS_CPU_NS);
	assert_true(spent > 100 * second / CPU_BUDGET_SHARE / 2); /* it is used, too */
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	assert_int_equal(ps.modules.len, 0);
}

/* One process is not read again before some time that grows with what it took. */
static void test_scan_distance(void **state _unused_)
{
	const uint64_t ms = 1000000;
	uint64_t now = 1000 * ms;
	struct procs ps;

	begin_large(&ps);
	procs_poll(&ps, now);
	scan_cost_ns = 2 * ms;
	sample_at(&ps, 7, 0x1000, 1);
	lose_records(&ps);
	assert_true(sample_at(&ps, 7, 0x1000, 1)->must_scan);
	procs_poll(&ps, now + 2 * ms * LIMIT_SCAN_DISTANCE - 1);
	assert_true(sample_at(&ps, 7, 0x1000, 1)->must_scan);
	assert_int_equal(scan_calls, 1);
	/* What is known stays until then. */
	assert_string_equal(path_at(&ps, 7, 0x1000), "/scanned");
	/* Unless it is known to be wrong. */
	check_result = 0;
	procs_poll(&ps, now + 500 * ms);
	assert_int_equal(sample_at(&ps, 7, 0x8000, 1)->maps->count, 1);
	assert_string_equal(path_at(&ps, 7, 0x8000), "/asked");
	assert_int_equal(sample_at(&ps, 7, 0x8000, 1)->agreed.count, 0);
	assert_int_equal(scan_calls, 1);
	check_result = 1;
	procs_begin(&ps, now + 2 * ms * LIMIT_SCAN_DISTANCE);
	assert_false(sample_at(&ps, 7, 0x1000, 1)->must_scan);
	assert_int_equal(scan_calls, 2);
	procs_done(&ps);
}

/* What is not known of one with many mappings is asked for by address, a little in each poll. */
static void test_find(void **state _unused_)
{
	const uint64_t far = 0x100000;
	struct procs ps;
	struct proc *p;

	begin_large(&ps);
	procs_poll(&ps, 1000);
	scan_is_cut = true;
	p = sample_at(&ps, 7, far, 10);
	assert_true(p->is_partial);
	assert_false(p->is_unsure);
	assert_int_equal(p->maps->count, 11);
	assert_int_equal(find_calls, 1);
	/* Known now. */
	assert_false(sample_at(&ps, 7, far, 10)->is_unsure);
	assert_int_equal(find_calls, 1);
	/* More than it may ask for now: the rest comes with the next poll. */
	assert_true(sample_at(&ps, 7, far, 100)->is_unsure);
	assert_int_equal(find_count, LIMIT_FINDS);
	assert_true(sample_at(&ps, 7, far, 100)->is_unsure);
	assert_int_equal(find_calls, 2);
	sample_at(&ps, 8, far, 10); /* another one may */
	assert_int_equal(find_calls, 3);
	procs_poll(&ps, 2000);
	assert_false(sample_at(&ps, 7, far, 100)->is_unsure);
	assert_int_equal(find_calls, 4);
	/* Behind a caller in no mapping is no stack, so all is known of this one. */
	assert_false(sample_at(&ps, 7, (UINT64_C(1) << 40) - 4096, 5)->is_unsure);
	/* A table that is full begins anew. */
	for (uint64_t at = 0; p->maps->count + 30 <= LIMIT_PROC_MAPPINGS; at++) {
		procs_poll(&ps, 3000 + at);
		sample_at(&ps, 7, 0x10000000 + at * 30 * 4096, 30);
	}
	procs_poll(&ps, 1000000);
	assert_false(sample_at(&ps, 7, 0x8000000000, 40)->is_unsure);
	assert_int_equal(p->maps->count, 40);
	/* Without budget nothing is asked. */
	ps.scan_budget.left = 0;
	find_calls = 0;
	assert_true(sample_at(&ps, 7, 0x70000000, 1)->is_unsure);
	assert_int_equal(find_calls, 0);
	ps.scan_budget.left = LIMIT_SCANS_CPU_NS;
	/* It is gone: what is known stays. */
	find_error = -ESRCH;
	assert_true(sample_at(&ps, 7, 0x70000000, 1)->is_gone);
	assert_int_equal(p->maps->count, 40);
	/* A kernel that cannot be asked: it is read as a whole. */
	find_error = -ENOTTY;
	sample_at(&ps, 8, 0x70000000, 1);
	assert_null(ps.source.find);
	procs_poll(&ps, UINT64_C(10000000000));
	scan_calls = 0;
	assert_false(sample_at(&ps, 8, 0x70000000, 1)->must_scan);
	assert_int_equal(scan_calls, 1);
	assert_int_equal(scan_most, LIMIT_PROC_MAPPINGS);
	procs_done(&ps);
	assert_int_equal(ps.modules.count, 0);
	assert_int_equal(ps.modules.len, 0);
}

/* Records of mappings fill a table up to its limit; what is above is asked for by address. */
static void test_table_bound(void **state _unused_)
{
	struct events q;
	struct procs ps;

	events_init(&q);
	begin_large(&ps);
	procs_poll(&ps, 1000);
	add_exec(&q, 10, 7);
	/* From above, as the kernel places them. */
	for (uint64_t i = LIMIT_PROC_MAPPINGS + 100; i > 0; i--)
		add_map(&q, 20, 7, i * 0x2000, "/file");
	play_all(&ps, &q);
	assert_string_equal(path_at(&ps, 7, LIMIT_PROC_MAPPINGS * 0x2000), "/file");
	assert_string_equal(path_at(&ps, 7, 0x2000), "/asked");
	assert_true(sample_at(&ps, 7, 0x2000, 1)->is_partial);
	assert_int_equal(scan_calls, 0);
	procs_done(&ps);
	assert_int_equal(ps.modules.len, 0);
	events_done(&q);
}

/* All tables and paths have a limit too, and who has few mappings keeps them. */
static void test_tables_bound(void **state _unused_)
{
	const uint32_t many = 60;
	char path[4001];
	struct events q;
	struct procs ps;
	struct proc *small;

	events_init(&q);
	begin_large(&ps);
	procs_poll(&ps, 1000);
	add_exec(&q, 1, 100000);
	add_map(&q, 2, 100000, 0x1000, "/small");
	play_all(&ps, &q);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	for (uint32_t pid = 1; pid <= many; pid++) {
		add_exec(&q, 10, pid);
		for (uint32_t i = 0; i < 500; i++) {
			snprintf(path, sizeof(path), "/%u/%u", pid, i);
			path[strlen(path)] = 'x';
			add_map(&q, 20, pid, i * 0x2000, path);
		}
		play_all(&ps, &q);
		procs_poll(&ps, 2000 + pid);
		assert_true(ps.modules.len <= LIMIT_PROCS_MAPPINGS_LEN);
	}
	small = sample_at(&ps, 100000, 0x1000, 1);
	assert_int_equal(small->maps->count, 1);
	assert_false(small->must_scan || small->is_partial);
	assert_true(sample_at(&ps, 1, 0x2000, 1)->is_partial);
	assert_string_equal(path_at(&ps, 1, 0x2000), "/asked");
	assert_int_equal(scan_calls, 0);
	procs_done(&ps);
	assert_int_equal(ps.modules.len, 0);
	events_done(&q);
}

/* The lowest mappings alone, by both ways; and those at addresses. */
static void check_cut_and_found(struct modules *ms, const struct mappings *all)
{
	const uint32_t pid = (uint32_t)getpid();
	const enum procscan_way ways[] = {PROCSCAN_BEST, PROCSCAN_TEXT};
	const uint64_t pcs[] = {1, all->rows[1].start, all->rows[all->count - 1].start + 1, 1,
				all->rows[0].start};
	struct mappings *found = mappings_new();
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct procscan cut = {.maps = NULL};

		assert_int_equal(procscan_read(pid, ways[i], ms, 2, &cut), 0);
		assert_true(cut.is_cut);
		assert_int_equal(cut.maps->count, 2);
		assert_int_equal(cut.maps->rows[1].start, all->rows[1].start);
		assert_non_null(cut.exe);
		mappings_unref(cut.maps);
		module_unref(cut.exe);
	}
	assert_int_equal(procscan_find(pid, PROCSCAN_TEXT, ms, &found, pcs, 1), -ENOTTY);
	rc = procscan_find(pid, PROCSCAN_BEST, ms, &found, pcs, ARRAY_LEN(pcs));
	if (rc != -ENOTTY) { /* before Linux 6.11 */
		assert_int_equal(rc, 0);
		/* Not what stands behind a caller that lies nowhere. */
		assert_int_equal(found->count, 2);
		assert_ptr_equal(found->rows[0].module, all->rows[1].module);
		assert_int_equal(found->rows[1].end, all->rows[all->count - 1].end);
		assert_int_equal(found->rows[1].file_off, all->rows[all->count - 1].file_off);
		assert_true(procscan_find(INT32_MAX, PROCSCAN_BEST, ms, &found, pcs, 1) < 0);
	}
	mappings_unref(found);
}

static void test_cut_and_found(void **state _unused_)
{
	struct procscan all = {.maps = NULL};
	struct modules ms;

	modules_init(&ms);
	assert_int_equal(
		procscan_read((uint32_t)getpid(), PROCSCAN_BEST, &ms, LIMIT_PROC_MAPPINGS, &all),
		0);
	assert_false(all.is_cut);
	check_cut_and_found(&ms, all.maps);
	mappings_unref(all.maps);
	module_unref(all.exe);
	assert_int_equal(ms.count, 0);
	modules_done(&ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_budget),  cmocka_unit_test(test_scan_distance),
		cmocka_unit_test(test_find),         cmocka_unit_test(test_table_bound),
		cmocka_unit_test(test_tables_bound), cmocka_unit_test(test_cut_and_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
