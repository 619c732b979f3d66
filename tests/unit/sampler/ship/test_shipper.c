/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from the spool to the sink, with a service that is a function here: it names every
 * address of module "aa", defers, refuses or is away, as each test wants.
 */
#include "profile_file.h"
#include "ship_back_off.h"
#include "shipper.h"
#include "spool_status.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct service {
	int fail;             /* code to fail with, 0: answer */
	size_t defer_all_but; /* locations answered in one reply, the others are deferred */
	unsigned int calls, locations;
	bool bad_columns;
	bool building; /* no table is ready */
	bool came;     /* so is module "bb", from now on */
	bool went;     /* and the tables that were there are not, from now on */
	unsigned int watched;
	bool *asked; /* by the number in their second and third byte; NULL: module "bb" only */
};

static struct service service;
static char dir[] = "shipper-XXXXXX";

/* The reply is made as bytes and parsed, so that it is freed as a real one is. */
static int fake_call(void *ctx, const Rawstack__V1__StackBatch *q, uint32_t timeout_ms _unused_,
		     Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	struct service *svc = ctx;
	Rawstack__V1__SymbolizedBatch r = RAWSTACK__V1__SYMBOLIZED_BATCH__INIT;
	Rawstack__V1__Functions f = RAWSTACK__V1__FUNCTIONS__INIT;
	ProtobufCBinaryData strings[4] = {{0, NULL},
					  {5, (uint8_t *)(uintptr_t) "outer"},
					  {5, (uint8_t *)(uintptr_t) "inner"},
					  {4, (uint8_t *)(uintptr_t) "/a.c"}};
	uint32_t names[2] = {1, 2}, files[2] = {3, 3};
	size_t n = q->locations->n_kind, frames = 0, answered = 0;
	Rawstack__V1__LocationStatus *status = calloc(n, sizeof(*status));
	uint32_t *counts = calloc(n, sizeof(*counts)), *functions = calloc(2 * n, 4),
		 *lines = calloc(2 * n, 4);
	uint8_t *packed;
	size_t len;

	svc->calls++;
	assert_int_equal(q->locations->n_address, n);
	assert_int_equal(q->locations->n_weight, n);
	/* Nothing else of the host: the only strings are names of sections. */
	for (size_t i = 0; i < q->n_strings; i++)
		assert_true(!q->strings[i].len || q->strings[i].data[0] == '.');
	assert_null(q->samples);
	assert_null(q->stacks);
	for (size_t i = 0; i < n && !svc->fail; i++) {
		const Rawstack__V1__Module *m;

		assert_true(q->locations->module[i] < q->n_modules);
		m = q->modules[q->locations->module[i]];
		svc->locations++;
		if (svc->defer_all_but && answered++ >= svc->defer_all_but) {
			status[i] = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED;
			continue;
		}
		if (svc->building) {
			status[i] = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_BUILDING;
			continue;
		}
		if (m->build_id.data[0] == 0xaa ? svc->went : !svc->came) {
			status[i] = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_UNKNOWN_MODULE;
			continue;
		}
		status[i] = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_RESOLVED;
		counts[i] = 2;
		functions[frames] = 1;
		lines[frames++] = (uint32_t)q->locations->address[i];
		functions[frames] = 0;
		lines[frames++] = 100;
	}
	r.n_status = n;
	r.status = status;
	r.n_frame_count = svc->bad_columns ? n - 1 : n;
	r.frame_count = counts;
	r.n_frame_function = r.n_frame_line = frames;
	r.frame_function = functions;
	r.frame_line = lines;
	f.n_name = f.n_file = 2;
	f.name = names;
	f.file = files;
	r.functions = &f;
	r.n_strings = 4;
	r.strings = strings;
	len = rawstack__v1__symbolized_batch__get_packed_size(&r);
	packed = malloc(len);
	rawstack__v1__symbolized_batch__pack(&r, packed);
	if (!svc->fail)
		*ret = rawstack__v1__symbolized_batch__unpack(NULL, len, packed);
	free(packed);
	free(status);
	free(counts);
	free(functions);
	free(lines);
	return svc->fail ? err_set(err, svc->fail, "fake: told to fail") : 0;
}

static int fake_watch(void *ctx, const ProtobufCBinaryData *ids, size_t count,
		      void (*ready)(void *arg, const void *id, size_t len), void *arg,
		      struct err *err _unused_)
{
	struct service *svc = ctx;

	svc->watched++;
	for (size_t i = 0; svc->asked && i < count; i++)
		svc->asked[ids[i].data[1] << 8 | ids[i].data[2]] = true;
	if (svc->asked)
		return 0;
	assert_int_equal(count, 1);
	assert_int_equal(ids[0].data[0], 0xbb);
	if (svc->came)
		ready(arg, ids[0].data, ids[0].len);
	return 0;
}

static uint32_t add_string(struct spool_writer *w, const char *s)
{
	return spool_writer_string(w, s, strlen(s));
}

static uint32_t add_location(struct spool_writer *w, uint8_t kind, uint8_t mode, uint8_t reason,
			     uint32_t module, uint64_t address, uint32_t name)
{
	return spool_writer_location(w, &(struct location){.kind = kind,
							   .mode = mode,
							   .reason = reason,
							   .module = module,
							   .address = address,
							   .name = name});
}

/* `count` samples of one stack with a frame of each kind, above `base`. */
static void fill_spool(const char *spool, uint64_t base, unsigned int count)
{
	_cleanup_(spool_writer_closep) struct spool_writer *w = NULL;
	struct spool_limits limits = {.segment_len = MIB, .total_len = 8 * MIB, .free_floor = 1};
	struct spool_origin origin = {.period_ns = 10000000,
				      .mono_ns = 1000,
				      .real_ns = 1700000000000000000,
				      .host_name = "unit",
				      .event = "cpu-clock",
				      .backend = "test"};
	struct err err = {0};

	if (spool_writer_open(&w, spool, &limits, &origin, NULL, &err))
		fail_msg("%s", err.message);
	for (unsigned int i = 0; i < count; i++) {
		struct spool_module known = {.path = add_string(w, "/bin/known")},
				    missing = {.path = add_string(w, "/bin/missing")},
				    kernel = {.path = add_string(w, "kernel"), .is_kernel = true};
		uint32_t frames[6], known_id, missing_id, kernel_id;

		assert_int_equal(build_id_set(&known.id, BUILD_ID_GNU, "\xaa\x01\x02\x03", 4, &err),
				 0);
		assert_int_equal(
			build_id_set(&missing.id, BUILD_ID_GNU, "\xbb\x01\x02\x03", 4, &err), 0);
		assert_int_equal(build_id_set(&kernel.id, BUILD_ID_GNU, "\xaa\x0b", 2, &err), 0);
		known_id = spool_writer_module(w, &known);
		missing_id = spool_writer_module(w, &missing);
		kernel_id = spool_writer_module(w, &kernel);
		frames[0] = add_location(w, LOCATION_KERNEL_TEXT, 0, 0, kernel_id, 77,
					 LOCATION_NO_INDEX);
		frames[1] = add_location(w, LOCATION_FILE_OFF, LOCATION_RETURN, 0, known_id,
					 base + i, LOCATION_NO_INDEX);
		frames[2] = add_location(w, LOCATION_FILE_OFF, LOCATION_RETURN, 0, missing_id,
					 0x501, LOCATION_NO_INDEX);
		frames[3] =
			add_location(w, LOCATION_UNRESOLVED, LOCATION_RETURN, UNRESOLVED_ANONYMOUS,
				     LOCATION_NO_INDEX, 0x7fff0000 + i, LOCATION_NO_INDEX);
		frames[4] =
			add_location(w, LOCATION_HOST_NAMED, LOCATION_RETURN, HOST_SOURCE_PERF_MAP,
				     LOCATION_NO_INDEX, 0, add_string(w, "js:loop"));
		frames[5] =
			add_location(w, LOCATION_HOST_NAMED, 0, HOST_SOURCE_PSEUDO,
				     LOCATION_NO_INDEX, 0, add_string(w, "[no user stack: test]"));
		spool_writer_sample(
			w, &(struct spool_sample){
				   .time_ns = 2000 + 1000 * i,
				   .thread = spool_writer_thread(
					   w,
					   &(struct spool_thread){
						   .pid = 42,
						   .tid = 43,
						   .comm = add_string(w, "worker"),
						   .exe = add_string(w, "/bin/known"),
						   .cgroup = LOCATION_NO_INDEX,
						   .container = add_string(w, "c0ffee"),
						   .service = LOCATION_NO_INDEX,
						   .labels = add_string(w, "zone=eu,bad,tier=3"),
					   }),
				   .stack = spool_writer_stack(w, frames, 6,
							       SPOOL_STACK_USER_TRUNCATED),
				   .weight = 2});
	}
	if (spool_writer_flush(w, &err))
		fail_msg("%s", err.message);
}

struct fixture {
	char spool[64], out[64];
	struct sink *sink;
	struct shipper *s;
};

/* A clock that stands still unless a test moves it. */
static uint64_t now_ns = 1000;

static uint64_t still_clock(void *ctx _unused_)
{
	return now_ns;
}

static void open_shipper(struct fixture *f, const char *name, size_t batch_samples)
{
	static struct io io;
	struct err err = {0};

	io = *io_system();
	io.mono_ns = still_clock;
	memset(&service, 0, sizeof(service));
	snprintf(f->spool, sizeof(f->spool), "%s/%s.spool", dir, name);
	snprintf(f->out, sizeof(f->out), "%s/%s.out", dir, name);
	if (sink_open(&f->sink, f->out, SINK_PPROF, NULL, &err) ||
	    shipper_open(&f->s,
			 &(struct shipper_options){.spool = f->spool,
						   .sink = f->sink,
						   .io = &io,
						   .call = fake_call,
						   .call_ctx = &service,
						   .batch_samples = batch_samples},
			 &err))
		fail_msg("%s", err.message);
}

static void close_shipper(struct fixture *f)
{
	shipper_close(f->s);
	sink_close(f->sink);
}

/* All of a sink in one profile; returns the number of files. */
static unsigned int read_sink(const char *path, struct profile *p)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	unsigned int files = 0;

	assert_non_null(d);
	profile_init(p);
	while ((entry = readdir(d))) {
		_cleanup_(profile_done) struct profile one;
		char file[400];
		struct err err = {0};

		profile_init(&one);
		if (entry->d_name[0] == '.')
			continue;
		assert_null(strstr(entry->d_name, ".tmp"));
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (profile_file_read(file, &one, &err) || profile_merge(p, &one, NULL, NULL, &err))
			fail_msg("%s", err.message);
		files++;
	}
	closedir(d);
	return files;
}

static int64_t total(const struct profile *p)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->samples.count; i++)
		sum += profile_values(p, i)[0];
	return sum;
}

static const char *name_of(const struct profile *p, uint32_t stack, size_t frame, size_t line)
{
	static char text[256];
	const uint32_t *locations;
	struct profile_text t;
	struct profile_location l;
	size_t count;

	locations = profile_stack(p, stack, &count);
	assert_true(frame < count);
	l = profile_location(p, locations[frame]);
	assert_true(line < l.line_count);
	t = profile_text(p, profile_function(p, l.lines[line].function).name);
	snprintf(text, sizeof(text), "%.*s", (int)t.len, t.p);
	return text;
}

static void test_ship(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct profile_location l;
	struct err err = {0};
	struct spool_status status;
	uint64_t left;
	uint32_t stack;
	size_t count;

	open_shipper(&f, "ship", 0);
	assert_true(shipper_step(f.s, &err) < 0); /* no spool yet: not an end */
	fill_spool(f.spool, 0x100, 3);
	fill_spool(f.spool, 0x100, 0); /* runs that saw nothing leave no backlog */
	fill_spool(f.spool, 0x100, 0);
	assert_int_equal(spool_status_read(&status, f.spool, &err), 0);
	assert_in_range(status.unsent_len, 100, 2000);
	assert_int_equal(shipper_backlog(f.s, &left, &err), 0);
	assert_int_equal(left, 3);
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_step(f.s, &err), 0);
	assert_int_equal(shipper_backlog(f.s, &left, &err), 0);
	assert_int_equal(left, 0);
	assert_int_equal(spool_status_read(&status, f.spool, &err), 0);
	assert_int_equal(status.unsent_len, 0);
	assert_int_equal(status.segment_count, 3);
	assert_int_equal(shipper_delivered(f.s), 3);
	assert_int_equal(service.locations, 5); /* distinct ones that a service can name */
	close_shipper(&f);

	assert_int_equal(read_sink(f.out, &p), 1);
	assert_int_equal(total(&p), 6);            /* weights */
	assert_int_equal(p.duration_ns, 10002000); /* from first to last, and one period */
	stack = profile_sample(&p, 0).stack;
	assert_string_equal(name_of(&p, stack, 0, 0), "inner");
	assert_string_equal(name_of(&p, stack, 1, 0), "inner");
	assert_string_equal(name_of(&p, stack, 1, 1), "outer");
	assert_string_equal(name_of(&p, stack, 2, 0), "/bin/missing+0x500");
	assert_string_equal(name_of(&p, stack, 3, 0), "[anonymous memory]");
	assert_string_equal(name_of(&p, stack, 4, 0), "js:loop");
	assert_string_equal(name_of(&p, stack, 5, 0), "[no user stack: test]");
	assert_string_equal(name_of(&p, stack, 6, 0), "[truncated stack]");
	l = profile_location(&p, profile_stack(&p, stack, &count)[0]);
	assert_true(profile_is_kernel(&p, l.module));
	l = profile_location(&p, profile_stack(&p, stack, &count)[1]);
	assert_false(profile_is_kernel(&p, l.module));
	assert_int_equal(l.lines[0].line, 0x100); /* the service saw the address as it was */
	assert_int_equal(l.address, 0xff);
	assert_int_equal(profile_labels(&p, profile_sample(&p, 0).labels, &count)[1].num, 42);
	assert_int_equal(count,
			 8); /* thread, pid, state, event, stack_end, container, zone, tier */
}

static void test_deferred(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};

	open_shipper(&f, "deferred", 0);
	service.defer_all_but = 7;
	fill_spool(f.spool, 0x100, 50);
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(service.calls, 8); /* 52 locations, 7 in each */
	close_shipper(&f);
	read_sink(f.out, &p);
	assert_int_equal(total(&p), 100);
	for (uint32_t i = 0; i < p.samples.count; i++)
		assert_string_equal(name_of(&p, profile_sample(&p, i).stack, 1, 1), "outer");
}

/* Away, wrong, away again, back: everything is there, once. */
static void test_server_away(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};
	uint64_t left;
	int rc;

	open_shipper(&f, "away", 10);
	fill_spool(f.spool, 0x100, 25);
	service.fail = ERR_UNAVAILABLE;
	for (int i = 0; i < 3; i++)
		assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	service.fail = 0;
	service.bad_columns = true;
	assert_int_equal(shipper_step(f.s, &err), ERR_INTERNAL);
	service.bad_columns = false;
	assert_int_equal(shipper_step(f.s, &err), 1);
	service.fail = ERR_UNAVAILABLE;
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	assert_int_equal(shipper_backlog(f.s, &left, &err), 0);
	assert_int_equal(left, 15);
	service.fail = 0;
	while ((rc = shipper_step(f.s, &err)) > 0)
		;
	assert_int_equal(rc, 0);
	close_shipper(&f);
	assert_int_equal(read_sink(f.out, &p), 3);
	assert_int_equal(total(&p), 50);
}

/* What the service will never take must not hold up the rest. */
static void test_refused(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};

	open_shipper(&f, "refused", 0);
	fill_spool(f.spool, 0x100, 1);
	service.fail = ERR_DATA;
	assert_int_equal(shipper_step(f.s, &err), 1);
	close_shipper(&f);
	read_sink(f.out, &p);
	assert_string_equal(name_of(&p, profile_sample(&p, 0).stack, 1, 0), "/bin/known+0xff");
	assert_int_equal(total(&p), 2);
}

/* Tables that are being made are waited for, for a while; then nothing is, for a longer while. */
static void test_building(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};
	int named = 0;

	open_shipper(&f, "building", 5);
	fill_spool(f.spool, 0x100, 25);
	service.building = true;
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.message, "still making the tables of 7 locations"));
	now_ns += SHIPPER_BUILDING_NS - 1;
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	service.building = false;
	assert_int_equal(shipper_step(f.s, &err), 1); /* in time: 5 with names */

	service.building = true;
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	now_ns += SHIPPER_BUILDING_NS;
	assert_int_equal(shipper_step(f.s, &err), 1); /* too late: 5 without */
	assert_int_equal(shipper_step(f.s, &err), 1); /* not waited for: 5 without */
	service.building = false;
	assert_int_equal(shipper_step(f.s, &err), 1); /* 5 with names */
	service.building = true;
	now_ns += SHIPPER_BUILDING_REST_NS;
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE); /* waited for again */
	service.building = false;
	assert_int_equal(shipper_step(f.s, &err), 1); /* 5 with names */
	assert_int_equal(shipper_step(f.s, &err), 0);
	close_shipper(&f);

	assert_int_equal(read_sink(f.out, &p), 5);
	assert_int_equal(total(&p), 50);
	for (uint32_t i = 0; i < p.samples.count; i++)
		named += !strcmp(name_of(&p, profile_sample(&p, i).stack, 1, 0), "inner");
	assert_int_equal(named, 15);
}

/* The sink cannot be written: the batch stays. */
static int failing_rename(void *ctx _unused_, int dir_fd _unused_, const char *from _unused_,
			  const char *to _unused_)
{
	return -28; /* ENOSPC */
}

static void test_full_disk(void **state _unused_)
{
	struct fixture f;
	struct io io = *io_system();
	struct err err = {0};
	uint64_t left;

	io.rename = failing_rename;
	open_shipper(&f, "full", 0);
	sink_close(f.sink);
	shipper_close(f.s);
	assert_int_equal(sink_open(&f.sink, f.out, SINK_PPROF, &io, &err), 0);
	assert_int_equal(shipper_open(&f.s,
				      &(struct shipper_options){.spool = f.spool,
								.sink = f.sink,
								.call = fake_call,
								.call_ctx = &service},
				      &err),
			 0);
	fill_spool(f.spool, 0x100, 4);
	assert_true(shipper_step(f.s, &err) < 0);
	assert_int_equal(shipper_backlog(f.s, &left, &err), 0);
	assert_int_equal(left, 4);
	close_shipper(&f);
}

static void open_watching(struct fixture *f, const char *name)
{
	static struct io io;
	struct err err = {0};

	open_shipper(f, name, 0);
	shipper_close(f->s);
	io = *io_system();
	io.mono_ns = still_clock;
	assert_int_equal(shipper_open(&f->s,
				      &(struct shipper_options){.spool = f->spool,
								.sink = f->sink,
								.io = &io,
								.call = fake_call,
								.watch = fake_watch,
								.call_ctx = &service,
								.batch_samples = 10,
								.batch_age_ns = SHIPPER_WATCH_NS},
				      &err),
			 0);
}

/* More ids than one call takes: each has its turn. */
static void test_watch_in_turn(void **state _unused_)
{
	bool asked[9000] = {false}; /* more than LIMIT_BATCH_MODULES */
	struct fixture f;
	struct err err = {0};
	char path[200];
	FILE *file;

	open_watching(&f, "turns");
	fill_spool(f.spool, 0x100, 1);
	snprintf(path, sizeof(path), "%s/again", f.spool);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		fprintf(file, "id aa%04zx00\nbatch 5 %zu 1 %zu\n", i, i + 1, i);
	assert_int_equal(fclose(file), 0);
	service.asked = asked;
	now_ns = 1000000;
	assert_int_equal(shipper_step(f.s, &err), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shipper_step(f.s, &err), 0);
		now_ns += SHIPPER_WATCH_NS;
	}
	assert_int_equal(service.watched, 2);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		assert_true(asked[i]);
	service.asked = NULL;
	close_shipper(&f);
}

/* What lacked names is at the sink at once, and again under the same id when they came: after a
 * restart as well. */
static void test_redeliver(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p, more;
	struct shipper_stats stats;
	struct fixture f;
	struct err err = {0};
	unsigned int files;

	open_watching(&f, "again");
	fill_spool(f.spool, 0x100, 20);
	now_ns = 1000000;
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_step(f.s, &err), 0);
	assert_int_equal(service.watched, 1);
	assert_int_equal(shipper_step(f.s, &err), 0);
	assert_int_equal(service.watched, 1); /* not all the time */
	files = read_sink(f.out, &p);
	assert_int_equal(files, 2);
	assert_string_equal(name_of(&p, profile_sample(&p, 0).stack, 2, 0), "/bin/missing+0x500");
	shipper_stats(f.s, &stats);
	assert_int_equal(stats.waiting, 2);
	close_shipper(&f);
	open_watching(&f, "again");
	service.came = true;
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_step(f.s, &err), 0);
	shipper_stats(f.s, &stats);
	assert_int_equal(stats.again, 2);
	assert_int_equal(stats.waiting, 0);
	assert_int_equal(stats.batches, 0);
	assert_int_equal(read_sink(f.out, &more), files);
	assert_int_equal(total(&more), total(&p));
	assert_string_equal(name_of(&more, profile_sample(&more, 0).stack, 2, 0), "inner");
	now_ns += SHIPPER_WATCH_NS;
	assert_int_equal(shipper_step(f.s, &err), 0);
	assert_int_equal(service.watched, 1); /* nobody waits */
	close_shipper(&f);
}

/* A table that the first delivery had is gone when one comes that it lacked: what is at the sink
 * stays, until both are there. */
static void test_redeliver_worse(void **state _unused_)
{
	static const char *const kept[] = {"inner", "/bin/missing+0x500"};
	struct fixture f;
	struct err err = {0};

	open_watching(&f, "worse");
	fill_spool(f.spool, 0x100, 1);
	now_ns = 1000000;
	assert_int_equal(shipper_step(f.s, &err), 1);
	service.came = service.went = true;
	for (unsigned int i = 0; i < 5; i++) {
		_cleanup_(profile_done) struct profile p;

		service.fail = i == 3 ? ERR_DATA : 0;
		service.went = i < 4;
		assert_int_equal(shipper_step(f.s, &err), i == 4);
		assert_int_equal(read_sink(f.out, &p), 1);
		for (size_t frame = 1; frame < 3; frame++)
			assert_string_equal(name_of(&p, profile_sample(&p, 0).stack, frame, 0),
					    kept[i < 4 ? frame - 1 : 0]);
		now_ns += i < 2 ? SHIPPER_WATCH_NS : SHIPPER_PUT_OFF_NS;
		/* Not asked for all the time. */
		assert_int_equal(service.calls, i < 3 ? 2 : i);
	}
	close_shipper(&f);
}

/* A batch that is not full waits for its age, or for the end. */
static void test_batch_age(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};

	open_watching(&f, "age");
	fill_spool(f.spool, 0x100, 13);
	now_ns = 20000;
	assert_int_equal(shipper_step(f.s, &err), 1); /* ten */
	assert_int_equal(shipper_step(f.s, &err), 0);
	assert_int_equal(shipper_delivered(f.s), 10);
	assert_int_equal(shipper_due_ns(f.s, UINT64_MAX), 12000 + SHIPPER_WATCH_NS - 20000);
	assert_int_equal(shipper_due_ns(f.s, 5), 5);
	now_ns = 12000 + SHIPPER_WATCH_NS;
	assert_int_equal(shipper_due_ns(f.s, 5), 0);
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_delivered(f.s), 13);
	now_ns = 3000;
	fill_spool(f.spool, 0x300, 2); /* another segment */
	assert_int_equal(shipper_step(f.s, &err), 0);
	shipper_set_hurry(f.s);
	assert_int_equal(shipper_step(f.s, &err), 1);
	close_shipper(&f);
	assert_int_equal(read_sink(f.out, &p), 3);
	assert_int_equal(total(&p), 30);
}

/* Away for an hour, as the shipper's waits see it, with data that comes all the time: it is asked
 * as often as the back-off says, and everything is there in the end, once. */
static void test_hour_away(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	struct fixture f;
	struct err err = {0};
	uint64_t start, next_data;
	unsigned int failures = 0, rounds = 0;

	open_watching(&f, "hour");
	start = next_data = now_ns = 2000;
	service.fail = ERR_UNAVAILABLE;
	while (now_ns - start < UINT64_C(3600000000000)) {
		if (now_ns >= next_data) {
			fill_spool(f.spool, 0x100 + 100 * rounds++, 7);
			next_data += UINT64_C(300000000000);
		}
		assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
		failures++;
		now_ns += ship_back_off_ms(failures, failures * 7919) * UINT64_C(1000000);
	}
	assert_in_range(service.calls, 100, 160); /* an hour of 30 s, less the jitter */
	assert_int_equal(shipper_delivered(f.s), 0);
	service.fail = 0;
	while (shipper_step(f.s, &err) > 0)
		;
	assert_int_equal(shipper_delivered(f.s), 7 * rounds);
	close_shipper(&f);
	read_sink(f.out, &p);
	assert_int_equal(total(&p), 2 * 7 * (int64_t)rounds);
}

/* A service of several threads: answers nothing, in the order that the test wants. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int inside, most; /* calls under way; the most at a time */
	bool hold;                 /* none returns before three are there */
	unsigned int fail_at;      /* this call and those after it fail; 0: none */
	unsigned int calls;
} crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int crowd_call(void *ctx _unused_, const Rawstack__V1__StackBatch *q,
		      uint32_t timeout_ms _unused_, Rawstack__V1__SymbolizedBatch **ret,
		      struct err *err)
{
	Rawstack__V1__SymbolizedBatch r = RAWSTACK__V1__SYMBOLIZED_BATCH__INIT;
	_cleanup_(freep) Rawstack__V1__LocationStatus *status =
		calloc(q->locations->n_kind, sizeof(*status));
	_cleanup_(freep) uint32_t *counts = calloc(q->locations->n_kind, sizeof(*counts));
	_cleanup_(freep) uint8_t *packed = NULL;
	bool fails;
	size_t len;

	pthread_mutex_lock(&crowd.lock);
	fails = crowd.fail_at && ++crowd.calls >= crowd.fail_at;
	crowd.inside++;
	crowd.most = crowd.inside > crowd.most ? crowd.inside : crowd.most;
	pthread_cond_broadcast(&crowd.changed);
	while (crowd.hold && crowd.most < 3)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	crowd.inside--;
	pthread_mutex_unlock(&crowd.lock);
	if (fails)
		return err_set(err, ERR_UNAVAILABLE, "fake: told to fail");
	r.n_status = r.n_frame_count = q->locations->n_kind;
	r.status = status;
	r.frame_count = counts;
	len = rawstack__v1__symbolized_batch__get_packed_size(&r);
	packed = malloc(len);
	rawstack__v1__symbolized_batch__pack(&r, packed);
	*ret = rawstack__v1__symbolized_batch__unpack(NULL, len, packed);
	return 0;
}

/* Three batches are with the service at a time; each is acknowledged behind those before it, and
 * what was under way when one failed is there once in the end. */
static void test_in_flight(void **state _unused_)
{
	_cleanup_(profile_done) struct profile p;
	void *lanes[3] = {NULL};
	struct fixture f;
	struct err err = {0};
	uint64_t left;
	int rc;

	open_shipper(&f, "flight", 0);
	shipper_close(f.s);
	fill_spool(f.spool, 0x100, 100);
	assert_int_equal(shipper_open(&f.s,
				      &(struct shipper_options){.spool = f.spool,
								.sink = f.sink,
								.call = crowd_call,
								.lane_ctxs = lanes,
								.lane_count = 3,
								.batch_samples = 7},
				      &err),
			 0);
	crowd.hold = true;
	assert_int_equal(shipper_step(f.s, &err), 1);
	assert_int_equal(shipper_delivered(f.s), 7);
	pthread_mutex_lock(&crowd.lock);
	assert_int_equal(crowd.most, 3);
	crowd.hold = false;
	crowd.fail_at = 5;
	pthread_mutex_unlock(&crowd.lock);
	while ((rc = shipper_step(f.s, &err)) > 0)
		;
	assert_int_equal(rc, ERR_UNAVAILABLE);
	assert_int_equal(shipper_step(f.s, &err), ERR_UNAVAILABLE);
	rc = (int)shipper_delivered(f.s);
	assert_in_range(rc, 7, 7 * 8);
	assert_int_equal(shipper_backlog(f.s, &left, &err), 0);
	assert_int_equal(left, 100 - rc); /* acknowledged is what was delivered in order */
	pthread_mutex_lock(&crowd.lock);
	crowd.fail_at = 0;
	pthread_mutex_unlock(&crowd.lock);
	while ((rc = shipper_step(f.s, &err)) > 0)
		;
	assert_int_equal(rc, 0);
	assert_int_equal(shipper_delivered(f.s), 100);
	close_shipper(&f);
	assert_int_equal(read_sink(f.out, &p), 15);
	assert_int_equal(total(&p), 200);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ship),        cmocka_unit_test(test_deferred),
		cmocka_unit_test(test_server_away), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_building),    cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_redeliver),   cmocka_unit_test(test_redeliver_worse),
		cmocka_unit_test(test_batch_age),   cmocka_unit_test(test_hour_away),
		cmocka_unit_test(test_in_flight),   cmocka_unit_test(test_watch_in_turn),
	};

	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests_name("shipper", tests, NULL, NULL);
}
