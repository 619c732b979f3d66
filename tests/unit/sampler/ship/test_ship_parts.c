/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the shipper alone: which server, what a sink holds and for how long, who waits. */
#include "io.h"
#include "limits.h"
#include "redeliver.h"
#include "ship_back_off.h"
#include "ship_route.h"
#include "sink.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

static char dir[] = "ship-parts-XXXXXX";

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* --- routes ---------------------------------------------------------------------------------- */

static void test_fail_over(void **state _unused_)
{
	struct ship_route r;
	struct err err;
	uint64_t now = 1000;

	assert_int_equal(ship_route_init(&r, "a:1,b:2,c:3", NULL, NULL, &err), 0);
	assert_string_equal(ship_route_server(&r, now), "a:1");
	assert_true(ship_route_bad(&r, now));
	assert_string_equal(ship_route_server(&r, now), "b:2");
	assert_true(ship_route_bad(&r, now));
	assert_string_equal(ship_route_server(&r, now), "c:3");
	assert_false(ship_route_bad(&r, now)); /* all of them: time to wait */
	assert_string_equal(ship_route_server(&r, now), "a:1");
	assert_true(ship_route_bad(&r, now));
	ship_route_good(&r);
	assert_string_equal(ship_route_server(&r, now + SHIP_ROUTE_STAY_NS - 1), "b:2");
	assert_string_equal(ship_route_server(&r, now + SHIP_ROUTE_STAY_NS), "a:1");
	assert_int_equal(ship_route_init(&r, "a:1", NULL, NULL, &err), 0);
	assert_false(ship_route_bad(&r, now));
	assert_int_equal(ship_route_init(&r, "", NULL, NULL, &err), ERR_USAGE);
	assert_int_equal(ship_route_init(&r, "a:1,,b:2", NULL, NULL, &err), ERR_USAGE);
	assert_int_equal(ship_route_init(&r, "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7", NULL, NULL, &err),
			 ERR_USAGE);
}

static void test_routing_file(void **state _unused_)
{
	struct ship_route r;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "%s/routes", dir);
	assert_int_equal(ship_route_init(&r, NULL, path, "east", &err), ERR_NOT_FOUND);
	write_file(path, "# cluster servers\nwest w:1\n  east  e:1,e:2 # two\n* any:1");
	assert_int_equal(ship_route_init(&r, NULL, path, "east", &err), 0);
	assert_int_equal(r.count, 2);
	assert_string_equal(ship_route_server(&r, 0), "e:1");
	assert_int_equal(ship_route_refresh(&r, &err), 0);
	write_file(path, "west w:1\neast e:9\n");
	assert_int_equal(ship_route_refresh(&r, &err), 1);
	assert_string_equal(ship_route_server(&r, 0), "e:9");
	write_file(path, "west w:1\neastern e:7\neast\n");
	assert_int_equal(ship_route_refresh(&r, &err), ERR_NOT_FOUND);
	assert_int_equal(ship_route_refresh(&r, &err), 0); /* said once */
	assert_string_equal(ship_route_server(&r, 0), "e:9");
	assert_int_equal(unlink(path), 0);
	assert_true(ship_route_refresh(&r, &err) < 0);
	assert_string_equal(ship_route_server(&r, 0), "e:9");
	write_file(path, "* any:1\n");
	assert_int_equal(ship_route_refresh(&r, &err), 1);
	assert_string_equal(ship_route_server(&r, 0), "any:1");
}

/* --- sinks ----------------------------------------------------------------------------------- */

static void make_profile(struct profile *p)
{
	struct profile_line lines[2] = {{0}};
	struct profile_label labels[2] = {{0}};
	uint32_t stack[2], module, kernel;

	profile_init(p);
	profile_value_type(p, "samples", "count");
	profile_value_type(p, "cpu", "nanoseconds");
	module = profile_add_module(p,
				    &(struct profile_module){.path = profile_cstr(p, "/bin/a"),
							     .build_id = profile_cstr(p, "abcd")});
	kernel = profile_add_module(
		p, &(struct profile_module){.path = profile_cstr(p, PROFILE_KERNEL_TEXT)});
	lines[0].function = profile_add_function(
		p, &(struct profile_function){.name = profile_cstr(p, "in\"ner;\n"),
					      .file = profile_cstr(p, "/a.c")});
	lines[0].line = 7;
	lines[1].function = profile_add_function(
		p, &(struct profile_function){.name = profile_cstr(p, "main")});
	stack[1] = profile_add_location(
		p, &(struct profile_location){
			   .address = 16, .module = module, .lines = lines, .line_count = 2});
	lines[0].function = profile_add_function(
		p, &(struct profile_function){.name = profile_cstr(p, "do_read")});
	stack[0] = profile_add_location(
		p, &(struct profile_location){
			   .address = 32, .module = kernel, .lines = lines, .line_count = 1});
	labels[0].key = profile_cstr(p, "thread");
	labels[0].text = profile_cstr(p, "wor;ker");
	labels[1].key = profile_cstr(p, "pid");
	labels[1].num = 42;
	profile_add_sample(p, profile_add_stack(p, stack, 2), profile_add_labels(p, labels, 2),
			   (int64_t[]){3, 30});
}

static void expect_file(const char *name, const char *text)
{
	_cleanup_(freep) uint8_t *p = NULL;
	char path[128];
	struct err err;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (io_read_file(path, 10000, &p, &len, &err))
		fail_msg("%s", err.message);
	assert_string_equal((char *)p, text);
}

static void test_kinds(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	enum sink_kind kind;
	struct err err;

	make_profile(&p);
	for (int i = 0; i < SINK_KINDS; i++) {
		_cleanup_(sink_closep) struct sink *s = NULL;
		char path[64];

		snprintf(path, sizeof(path), "%s/kinds", dir);
		assert_int_equal(sink_open(&s, path, (enum sink_kind)i, NULL, &err), 0);
		assert_int_equal(sink_has(s, (const uint8_t *)"\x01\xff", 2), 0);
		assert_int_equal(sink_write_profile(s, (const uint8_t *)"\x01\xff", 2, &p, &err),
				 0);
		assert_int_equal(sink_has(s, (const uint8_t *)"\x01\xff", 2), 1);
	}
	expect_file("kinds/01ff.folded", "wor?ker;main;in\"ner??_[i];do_read_[k] 3\n");
	expect_file("kinds/01ff.jsonl",
		    "{\"time_ns\":0,\"duration_ns\":0,\"samples\":3,\"cpu\":30,"
		    "\"labels\":{\"thread\":\"wor;ker\",\"pid\":42},\"frames\":["
		    "{\"function\":\"do_read\",\"line\":7,\"module\":\"[kernel.kallsyms]\","
		    "\"address\":\"0x20\"},"
		    "{\"function\":\"in\\u0022ner;\\u000a\",\"file\":\"/"
		    "a.c\",\"line\":7,\"inlined\":true,"
		    "\"module\":\"/bin/a\",\"build_id\":\"abcd\",\"address\":\"0x10\"},"
		    "{\"function\":\"main\",\"module\":\"/bin/a\",\"build_id\":\"abcd\","
		    "\"address\":\"0x10\"}]}\n");
	assert_int_equal(sink_kind_of("folded", &kind, &err), 0);
	assert_int_equal(kind, SINK_FOLDED);
	assert_int_equal(sink_kind_of("svg", &kind, &err), ERR_USAGE);
}

static void set_age(const char *path, const char *name, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}};
	char file[128];

	times[1] = times[0];
	snprintf(file, sizeof(file), "%s/%s", path, name);
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static bool is_there(const char *path, const char *name)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/%s", path, name);
	return access(file, F_OK) == 0;
}

static void test_sweep(void **state _unused_)
{
	static const struct {
		const char *name;
		time_t age;
	} files[] = {
		{"01.pb.gz", 1000},
		{"02.pb.gz", 500},
		{"03.pb.gz", 10},
		{"mine.pb.gz", 9000},
		{"01.jsonl", 9000},
		{"notes.txt", 9000},
		{".04.pb.gz.0123456789abcdef.tmp", 9000},
		{".05.pb.gz.0123456789abcdef.tmp", 10},
	};
	_cleanup_(sink_closep) struct sink *s = NULL;
	struct sink_limits limits = {.age_ns = UINT64_C(600000000000)};
	char path[64], file[160];
	uint64_t removed;
	struct err err;

	snprintf(path, sizeof(path), "%s/sweep", dir);
	assert_int_equal(sink_open(&s, path, SINK_PPROF, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i].name);
		write_file(file, "0123456789");
		set_age(path, files[i].name, files[i].age);
	}
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 1);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		assert_int_equal(is_there(path, files[i].name), i != 0 && i != 6);
	limits.bytes = 20;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 0);
	limits.bytes = 19;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 1);
	assert_false(is_there(path, "02.pb.gz"));
	assert_true(is_there(path, "03.pb.gz"));
	limits = (struct sink_limits){0};
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 0);
}

static uint64_t sweep_real_ns, sweep_mono_ns;

static uint64_t sweep_real(void *ctx _unused_)
{
	return sweep_real_ns;
}

static uint64_t sweep_mono(void *ctx _unused_)
{
	return sweep_mono_ns;
}

/* A clock that is set ahead, and back, removes nothing; what came while it was ahead is as old as
 * its neighbours. */
static void test_sweep_clock(void **state _unused_)
{
	const uint64_t day = UINT64_C(86400000000000);
	const struct sink_limits limits = {.age_ns = 90 * day}, room = {.bytes = 20};
	_cleanup_(sink_closep) struct sink *s = NULL;
	struct io io = *io_system();
	char path[64], file[160];
	struct err err = {0};
	uint64_t removed;

	io.real_ns = sweep_real;
	io.mono_ns = sweep_mono;
	sweep_real_ns = (uint64_t)time(NULL) * 1000000000;
	sweep_mono_ns = 5 * day;
	snprintf(path, sizeof(path), "%s/clock", dir);
	assert_int_equal(sink_open(&s, path, SINK_PPROF, &io, &err), 0);
	for (int i = 1; i < 6; i++) {
		snprintf(file, sizeof(file), "%s/%064d%02d.pb.gz", path, 7, i);
		write_file(file, "0123456789");
		/* 1 to 5: 80, 60, -300, 20 and 10 days old. */
		set_age(path, strrchr(file, '/') + 1,
			i == 3 ? -86400 * 300 : 86400 * (100 - 20 * i));
	}
	set_age(path, strrchr(file, '/') + 1, 86400 * 10);
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 0);
	/* A year ahead, for some hours; and 11 days later the first is too old. */
	for (int hour = 1; hour < 5; hour++) {
		sweep_mono_ns += day / 24;
		sweep_real_ns += 365 * day * (hour == 1) + day / 24;
		assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
		assert_int_equal(removed, 0);
	}
	sweep_real_ns -= 365 * day;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 0);
	sweep_real_ns += 11 * day;
	sweep_mono_ns += 11 * day;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 1);
	/* The third goes before the fourth. */
	assert_int_equal(sink_sweep(s, &room, &removed, &err), 0);
	assert_int_equal(removed, 2);
	snprintf(file, sizeof(file), "%064d04.pb.gz", 7);
	assert_true(is_there(path, file));
	/* A clock that stays ahead is right. */
	sweep_real_ns += 100 * day;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 0);
	sweep_real_ns += day;
	sweep_mono_ns += day;
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), 0);
	assert_int_equal(removed, 2);
}

/* One life of a shipper on a clock that says so: how many it removes. */
static uint64_t one_life(const char *path, const struct sink_limits *limits, uint64_t real_ns,
			 uint64_t mono_ns)
{
	_cleanup_(sink_closep) struct sink *s = NULL;
	struct io io = *io_system();
	struct err err = {0};
	uint64_t removed;

	io.real_ns = sweep_real;
	io.mono_ns = sweep_mono;
	sweep_real_ns = real_ns;
	sweep_mono_ns = mono_ns;
	assert_int_equal(sink_open(&s, path, SINK_PPROF, &io, &err), 0);
	assert_int_equal(sink_sweep(s, limits, &removed, &err), 0);
	return removed;
}

/* One that delivers a batch, which is gone before the next one begins. */
static void delivering_life(const char *path, const struct sink_limits *limits, uint64_t real_ns,
			    uint64_t mono_ns)
{
	static const uint8_t id[] = {0xff};
	_cleanup_(sink_closep) struct sink *s = NULL;
	struct io io = *io_system();
	struct err err = {0};
	uint64_t removed;
	char file[128];

	io.real_ns = sweep_real;
	io.mono_ns = sweep_mono;
	sweep_real_ns = real_ns;
	sweep_mono_ns = mono_ns;
	assert_int_equal(sink_open(&s, path, SINK_PPROF, &io, &err), 0);
	assert_int_equal(sink_sweep(s, limits, &removed, &err), 0);
	assert_int_equal(sink_write(s, id, sizeof(id), "0123456789", 10, &err), 0);
	snprintf(file, sizeof(file), "%s/ff.pb.gz", path);
	assert_int_equal(unlink(file), 0);
}

static void dated(const char *path, int number, uint64_t real_ns)
{
	struct timespec times[2] = {{.tv_sec = (time_t)(real_ns / 1000000000)}};
	char file[192];

	times[1] = times[0];
	snprintf(file, sizeof(file), "%s/%064d%02d.pb.gz", path, 7, number);
	write_file(file, "0123456789");
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

/* A shipper that starts while the clock is ahead removes nothing early: where nothing is known but
 * the dates of what is there, and again when it is started again. */
static void test_sweep_starts_ahead(void **state _unused_)
{
	const uint64_t day = UINT64_C(86400000000000), now = (uint64_t)time(NULL) * 1000000000;
	const struct sink_limits limits = {.age_ns = 90 * day};
	char path[64], file[128];

	for (int known = 0; known < 3; known++) {
		snprintf(path, sizeof(path), "%s/ahead%d", dir, known);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(file, sizeof(file), "%s/.clock", path);
		/* Where there is nothing that could be too old nothing is left behind. */
		assert_int_equal(one_life(path, &limits, now - day / 48, 5 * day), 0);
		assert_int_equal(access(file, F_OK), -1);
		if (known)
			delivering_life(path, &limits, now - day / 48, 5 * day);
		/* A damaged one is as good as none. */
		if (known == 2)
			write_file(file, "00 1 2 3 4 5\n");
		dated(path, 1, now - 80 * day);
		dated(path, 2, now - day / 24);
		assert_int_equal(one_life(path, &limits, now + 365 * day, 5 * day), 0);
		/* What is delivered meanwhile is dated by that clock. */
		dated(path, 3, now + 365 * day);
		for (uint64_t hour = 1; hour < 20; hour++)
			assert_int_equal(one_life(path, &limits, now + 365 * day + hour * day / 24,
						  5 * day + hour * day / 24),
					 0);
		/* Set back, and after eleven days the first is too old. */
		assert_int_equal(one_life(path, &limits, now + day, 6 * day), 0);
		assert_int_equal(one_life(path, &limits, now + 11 * day, 16 * day), 1);
		snprintf(file, sizeof(file), "%064d01.pb.gz", 7);
		assert_false(is_there(path, file));
		/* One that runs for a day with it believes it, in however many lives. */
		assert_int_equal(one_life(path, &limits, now + 200 * day, 17 * day), 0);
		assert_int_equal(
			one_life(path, &limits, now + 200 * day + day / 2, 17 * day + day / 2), 0);
		assert_int_equal(one_life(path, &limits, now + 201 * day, 18 * day), 1);
	}
}

/* The reverse: it starts while the clock is behind, and that is set right later. */
static void test_sweep_starts_behind(void **state _unused_)
{
	const uint64_t day = UINT64_C(86400000000000), now = (uint64_t)time(NULL) * 1000000000;
	const struct sink_limits limits = {.age_ns = 90 * day};
	char path[64], file[128];
	struct stat st;

	for (int known = 0; known < 3; known++) {
		const uint64_t then = known == 2 ? day : now - 700 * day;

		snprintf(path, sizeof(path), "%s/behind%d", dir, known);
		assert_int_equal(mkdir(path, 0700), 0);
		if (known == 1)
			dated(path, 1, now - 10 * day);
		if (known == 2)
			delivering_life(path, &limits, now - day / 48, 5 * day);
		delivering_life(path, &limits, then, 5 * day);
		dated(path, 2, then + 1000000000);
		assert_int_equal(one_life(path, &limits, then + 3 * day, 8 * day), 0);
		dated(path, 3, then + 3 * day + 1000000000);
		assert_int_equal(
			one_life(path, &limits, then + 3 * day + day / 24, 8 * day + day / 24), 0);
		/* Set right: 2 is three days old, 3 an hour. */
		for (uint64_t hour = 2; hour <= 30; hour++)
			assert_int_equal(one_life(path, &limits, now + hour * day / 24,
						  8 * day + hour * day / 24),
					 0);
		snprintf(file, sizeof(file), "%s/%064d02.pb.gz", path, 7);
		assert_int_equal(stat(file, &st), 0);
		assert_true((uint64_t)st.st_mtim.tv_sec * 1000000000 + day / 6 > now - 3 * day);
		assert_int_equal(one_life(path, &limits, now + 85 * day, 93 * day), known == 1);
		assert_int_equal(one_life(path, &limits, now + 95 * day, 103 * day), 2);
	}
}

/* What cannot be removed keeps nothing else from it. */
static void test_sweep_not_ours(void **state _unused_)
{
	const struct sink_limits limits = {.age_ns = UINT64_C(600000000000)};
	_cleanup_(sink_closep) struct sink *s = NULL;
	char path[64], file[96];
	struct err err = {0};
	uint64_t removed;
	int status;
	pid_t pid;

	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/sticky", dir);
	assert_int_equal(sink_open(&s, path, SINK_PPROF, NULL, &err), 0);
	assert_int_equal(chmod(path, 01777), 0);
	for (int i = 1; i < 3; i++) {
		snprintf(file, sizeof(file), "%s/0%d.pb.gz", path, i);
		write_file(file, "0123456789");
		set_age(path, strrchr(file, '/') + 1, 3000 - i);
	}
	assert_int_equal(chown(file, 65534, 65534), 0);
	assert_int_equal(chown(path, 65533, 65533), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(65534, 65534, 65534))
			_exit(1);
		_exit(sink_sweep(s, &limits, &removed, &err) == 0 || removed != 1 ||
		      !strstr(err.message, "removing old batches"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_there(path, "01.pb.gz"));
	assert_false(is_there(path, "02.pb.gz"));
}

/* --- who waits for names --------------------------------------------------------------------- */

static struct spool_batch batch_at(uint64_t segment, uint64_t place,
				   const struct spool_module *modules, size_t count)
{
	return (struct spool_batch){.segment = segment,
				    .place = place,
				    .modules = modules,
				    .module_count = count,
				    .sample_count = 5};
}

static void test_redeliver(void **state _unused_)
{
	struct spool_module modules[3];
	const bool all[3] = {true, true, true}, first[3] = {true}, last[3] = {[2] = true},
		   none[3] = {false};
	const struct redeliver_batch *due;
	struct spool_batch b;
	struct redeliver a;
	struct err err;
	char file[64];
	FILE *f;

	for (int i = 0; i < 3; i++)
		assert_int_equal(build_id_set(&modules[i].id, BUILD_ID_GNU,
					      (const uint8_t[]){(uint8_t)i, 2, 3}, 3, &err),
				 0);
	assert_int_equal(redeliver_open(&a, dir, io_system(), &err), 0);
	b = batch_at(7, 512, modules, 3);
	assert_int_equal(redeliver_note(&a, &b, all, &err), 0);
	b = batch_at(7, 900, modules, 3);
	assert_int_equal(redeliver_note(&a, &b, first, &err), 0);
	b = batch_at(8, 512, modules, 3);
	assert_int_equal(redeliver_note(&a, &b, last, &err), 0);
	b = batch_at(8, 700, modules, 3);
	assert_int_equal(redeliver_note(&a, &b, none, &err), 0);
	assert_int_equal(a.count, 3);
	assert_null(redeliver_due(&a));
	redeliver_close(&a);
	/* Another run of it; the last line is torn. */
	snprintf(file, sizeof(file), "%s/again", dir);
	f = fopen(file, "a");
	assert_non_null(f);
	fputs("batch 9 512 5", f);
	fclose(f);
	assert_int_equal(redeliver_open(&a, dir, io_system(), &err), 0);
	assert_int_equal(a.count, 3);
	redeliver_ready(&a, "\x00\x02\x04", 3); /* nobody's */
	assert_null(redeliver_due(&a));
	redeliver_ready(&a, "\x00\x02\x03", 3);
	due = redeliver_due(&a);
	assert_non_null(due);
	assert_int_equal(due->segment, 7);
	assert_int_equal(due->place, 512);
	assert_int_equal(due->samples, 5);
	/* Delivered again, and one is still missing. */
	b = batch_at(7, 512, modules, 3);
	assert_int_equal(redeliver_note(&a, &b, last, &err), 0);
	due = redeliver_due(&a);
	assert_non_null(due);
	assert_int_equal(due->place, 900);
	assert_int_equal(redeliver_forget(&a, 7, 900, &err), 0);
	assert_null(redeliver_due(&a));
	assert_false(redeliver_waits_for(&a, 0));
	assert_true(redeliver_waits_for(&a, 2));
	redeliver_close(&a);
	assert_int_equal(redeliver_open(&a, dir, io_system(), &err), 0);
	assert_int_equal(a.count, 2);
	for (uint64_t i = 0; i < LIMIT_REDELIVER + 10; i++) {
		b = batch_at(100 + i, 512, modules, 3);
		assert_int_equal(redeliver_note(&a, &b, last, &err), 0);
	}
	assert_int_equal(a.count, LIMIT_REDELIVER);
	assert_int_equal(a.batches[0].segment, 110);
	redeliver_close(&a);
	assert_int_equal(redeliver_open(&a, dir, io_system(), &err), 0);
	assert_int_equal(a.count, LIMIT_REDELIVER);
	assert_true(a.file_len < 4 * MIB);
	redeliver_close(&a);
}

/* A batch that lacks the id of this number only. */
static void note_one(struct redeliver *a, uint32_t number)
{
	const bool missing = true;
	struct spool_module module = {.path = LOCATION_NO_INDEX};
	struct spool_batch b = batch_at(5, number + 1, &module, 1);
	const uint8_t id[] = {0xaa, (uint8_t)(number >> 8), (uint8_t)number};
	struct err err;

	assert_int_equal(build_id_set(&module.id, BUILD_ID_GNU, id, sizeof(id), &err), 0);
	assert_int_equal(redeliver_note(a, &b, &missing, &err), 0);
}

static bool is_due(struct redeliver *a, uint32_t number)
{
	const uint8_t id[] = {0xaa, (uint8_t)(number >> 8), (uint8_t)number};
	const struct redeliver_batch *due;

	redeliver_ready(a, id, sizeof(id));
	due = redeliver_due(a);
	return due && due->place == number + 1;
}

/* Ids come and go for as long as a spool lives, over restarts: those of now have room. */
static void test_redeliver_ids(void **state _unused_)
{
	const uint32_t many = LIMIT_MISSING_IDS + 2000;
	struct redeliver a;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "%s/ids", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(redeliver_open(&a, path, io_system(), &err), 0);
	for (uint32_t i = 0; i < many; i++) {
		note_one(&a, i);
		if (i >= 2)
			assert_int_equal(redeliver_forget(&a, 5, i - 1, &err), 0);
	}
	assert_int_equal(a.count, 2);
	assert_int_equal(a.forgotten, 0);
	redeliver_close(&a);
	/* What nobody waits for is left out, and numbers mean the same after that. */
	assert_int_equal(redeliver_open(&a, path, io_system(), &err), 0);
	assert_int_equal(a.ids.count, 2);
	note_one(&a, 7);
	redeliver_close(&a);
	assert_int_equal(redeliver_open(&a, path, io_system(), &err), 0);
	assert_int_equal(a.count, 3);
	assert_true(is_due(&a, many - 2));
	assert_int_equal(redeliver_forget(&a, 5, many - 1, &err), 0);
	assert_true(is_due(&a, 7));
	assert_int_equal(redeliver_forget(&a, 5, 8, &err), 0);
	/* All are waited for: the oldest go, and that is counted. */
	for (uint32_t i = 0; i < many; i++)
		note_one(&a, 20000 + i);
	assert_true(a.forgotten > 0 && a.count + a.forgotten == many + 1);
	assert_true(is_due(&a, 20000 + many - 1));
	redeliver_close(&a);
	assert_int_equal(redeliver_open(&a, path, io_system(), &err), 0);
	assert_true(is_due(&a, 20000 + many - 1));
	assert_int_equal(a.ids.count, a.used_count);
	redeliver_close(&a);
}

/* --- more than can be, and a power cut ------------------------------------------------------- */

static int list_too_many(void *ctx _unused_, int dir_fd _unused_,
			 void (*each)(void *arg, const char *name), void *arg)
{
	for (uint64_t i = 0; i < LIMIT_SINK_FILES + 5; i++)
		each(arg, "01.pb.gz");
	return 0;
}

/* Those that are not remembered count all the same, and it is said. */
static void test_sweep_too_many(void **state _unused_)
{
	_cleanup_(sink_closep) struct sink *s = NULL;
	const struct sink_limits limits = {.bytes = 10 * LIMIT_SINK_FILES};
	struct io io = *io_system();
	char path[64], file[96];
	uint64_t removed;
	struct err err;

	io.list = list_too_many;
	snprintf(path, sizeof(path), "%s/many", dir);
	assert_int_equal(sink_open(&s, path, SINK_PPROF, &io, &err), 0);
	snprintf(file, sizeof(file), "%s/01.pb.gz", path);
	write_file(file, "0123456789");
	assert_int_equal(sink_sweep(s, &limits, &removed, &err), ERR_LIMIT);
	assert_int_equal(removed, 5);
	assert_false(is_there(path, "01.pb.gz"));
}

static ino_t synced;

static int note_sync(void *ctx, int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	synced = st.st_ino;
	return io_system()->sync(ctx, fd);
}

/* The name of a new directory outlives a power cut as what is in it does. */
static void test_parent_is_synced(void **state _unused_)
{
	_cleanup_(sink_closep) struct sink *s = NULL;
	struct io io = *io_system();
	struct stat st;
	char path[64];
	struct err err;

	io.sync = note_sync;
	snprintf(path, sizeof(path), "%s/fresh/", dir);
	assert_int_equal(sink_open(&s, path, SINK_PPROF, &io, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_true(synced == st.st_ino);
}

/* As child_ship.c hands over what is below a directory that is closed to the shipper: by a
 * descriptor. It can be written to, and its removal is told as what it is. */
static void test_by_descriptor(void **state _unused_)
{
	_cleanup_(sink_closep) struct sink *s = NULL;
	_cleanup_(closep) int fd = -1;
	char path[64], by_fd[64];
	struct err err;

	snprintf(path, sizeof(path), "%s/handed", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	if (sink_open(&s, by_fd, SINK_PPROF, NULL, &err))
		fail_msg("%s", err.message);
	assert_int_equal(sink_write(s, (const uint8_t *)"\x01", 1, "first", 5, &err), 0);
	assert_true(is_there(path, "01.pb.gz"));
	assert_int_equal(unlinkat(fd, "01.pb.gz", 0), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(sink_write(s, (const uint8_t *)"\x01", 1, "first", 5, &err) < 0);
	assert_int_equal(sink_reopen(s, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "by a start of the sampler"));
	assert_int_equal(rmdir(path), 0);
}

/* A crash between sink and acknowledgement: the same name again, so one file. */
static void test_second_delivery(void **state _unused_)
{
	_cleanup_(sink_closep) struct sink *sink = NULL;
	char path[128];
	struct err err = {0};
	uint8_t *p;
	size_t len;

	snprintf(path, sizeof(path), "%s/second", dir);
	assert_int_equal(sink_open(&sink, path, SINK_PPROF, NULL, &err), 0);
	assert_int_equal(sink_write(sink, (const uint8_t *)"\x01\xff", 2, "first", 5, &err), 0);
	assert_int_equal(sink_write(sink, (const uint8_t *)"\x01\xff", 2, "again", 5, &err), 0);
	assert_int_equal(sink_write(sink, (const uint8_t *)"\x02\xff", 2, "other", 5, &err), 0);
	assert_int_equal(sink_write(sink, (const uint8_t *)"", 0, "none", 4, &err), ERR_USAGE);
	snprintf(path, sizeof(path), "%s/second/01ff.pb.gz", dir);
	assert_int_equal(io_read_file(path, 100, &p, &len, &err), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(p, "again", 5);
	free(p);
	snprintf(path, sizeof(path), "ls -A %s/second | wc -l | grep -qx 2", dir);
	assert_int_equal(system(path), 0);
	assert_int_equal(sink_open(&sink, "/absent/a/b", SINK_PPROF, NULL, &err), ERR_NOT_FOUND);
}

static void test_back_off(void **state _unused_)
{
	static const struct {
		unsigned int failures;
		uint32_t ms;
	} rows[] = {
		{1, 500},   {2, 1000},  {3, 2000},           {6, 16000},
		{7, 30000}, {8, 30000}, {UINT32_MAX, 30000},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t ms = rows[i].ms, spread = ms * 2 / 5;

		assert_int_equal(ship_back_off_ms(rows[i].failures, 0), ms - ms / 5);
		assert_int_equal(ship_back_off_ms(rows[i].failures, spread - 1), ms + ms / 5 - 1);
		assert_int_equal(ship_back_off_ms(rows[i].failures, spread), ms - ms / 5);
	}
	assert_int_equal(ship_back_off_asked_ms(500, 0, 12345), 500);
	assert_int_equal(ship_back_off_asked_ms(500, 1000, 0), 1000);
	assert_int_equal(ship_back_off_asked_ms(500, 1000, 200), 1200);
	assert_int_equal(ship_back_off_asked_ms(500, 1000, 201), 1000);
	assert_int_equal(ship_back_off_asked_ms(30000, 1000, 200), 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fail_over),
		cmocka_unit_test(test_routing_file),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_sweep_starts_ahead),
		cmocka_unit_test(test_sweep_starts_behind),
		cmocka_unit_test(test_sweep_clock),
		cmocka_unit_test(test_sweep_not_ours),
		cmocka_unit_test(test_second_delivery),
		cmocka_unit_test(test_back_off),
		cmocka_unit_test(test_redeliver),
		cmocka_unit_test(test_redeliver_ids),
		cmocka_unit_test(test_sweep_too_many),
		cmocka_unit_test(test_parent_is_synced),
		cmocka_unit_test(test_by_descriptor),
	};

	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
