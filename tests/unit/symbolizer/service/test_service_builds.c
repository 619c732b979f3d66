/* SPDX-License-Identifier: Apache-2.0 */
/* The service's builds without connections: tables made again, and those that wait for room. */
#include "service.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "digest.h"
#include "io.h"
#include "limits.h"
#include "rsym_format.h"
#include "service_fixture.h"
#include "service_push.h"
#include "table_build.h"
#include "uploads_priv.h"

static void wait_until(struct service *s, uint64_t builds)
{
	for (int i = 0; i < 6000 && atomic_load(&s->counts.builds) < builds; i++)
		usleep(10000);
	assert_int_equal(atomic_load(&s->counts.builds), builds);
}

static struct build_id push(struct service *s, const char *path)
{
	return push_and(s, path, NULL, NULL);
}

/* A service in an empty folder that makes tables with this worker, and keeps files; its
 * configuration, to open it again. False where there are no programs to run. */
static bool open_building(struct service **ret, struct service_config *ret_config, char *worker)
{
	const char *bin = getenv("RAWSTACK_BIN");

	if (!bin)
		return false;
	if (!*worker)
		snprintf(worker, LIMIT_PATH_LEN, "%s/rawstack-table-worker", bin);
	*ret_config = (struct service_config){.data_dir = "data",
					      .store_bytes = 64 << 20,
					      .worker_path = worker,
					      .keep_debug = true};
	assert_int_equal(system("rm -rf data"), 0);
	*ret = open_with(ret_config);
	return true;
}

/* A newer builder makes the table again from the file that was kept, and from nothing else. */
static void test_newer_builder(void **state _unused_)
{
	char worker[LIMIT_PATH_LEN] = "";
	struct service_config config;
	struct build_id other = id_of(1);
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	Rawstack__V1__Binary *binary;
	struct service *s;
	struct build_id id;
	struct err err;

	if (!open_building(&s, &config, worker))
		skip();
	id = push(s, worker); /* a program with debug information, like any other */
	put(s, 1, STORE_READY, "main");
	assert_int_equal(atomic_load(&s->counts.builds), 1);
	assert_true(service_close(s));
	config.builder_version = TABLE_BUILDER_VERSION + 1;
	s = open_with(&config);
	wait_until(s, 1);
	get.build_id = bytes_of_id(&id);
	assert_int_equal(service_get(s, &get, &arena, &binary, &err), 0);
	assert_true(binary->report->has_dwarf);
	assert_true(service_close(s));
	/* Without the file nothing is made again. */
	s = open_with(&config);
	wait_until(s, 1);
	kept_files_remove(s->kept, &id, KEPT_DEBUG);
	build_queue_rebuild(s->queue, &id);
	build_queue_rebuild(s->queue, &other);
	assert_true(service_close(s));
	assert_int_equal(system("rm -rf data"), 0);
}

/* The store of a data directory that no service has, as a program sees it that reads this format.
 */
static struct store *open_store(uint16_t format)
{
	struct store *store = NULL;
	struct kv *kv;
	struct err err;

	if (store_kv_open_lmdb(&kv, "data", 64 << 20, 0, &err) ||
	    store_open(&store, kv, 64 << 20, format, &err))
		fail_msg("%s", err.message);
	return store;
}

/* What an older program would have left: the table, its version patched, and no other. Its bytes
 * are in the arena. */
static struct store_table make_older(struct build_id id)
{
	const size_t major_at = offsetof(struct rsym_disk_header, major);
	const uint16_t older = RSYM_MAJOR - 1;
	struct store *s = open_store(RSYM_MAJOR);
	struct store_table t;
	struct store_binary b;
	struct store_read *r;
	uint8_t *copy, *meta;
	struct err err;

	assert_int_equal(store_read_begin(s, &r, &err), 0);
	assert_int_equal(store_binary(r, &id, &b, &err), 1);
	assert_int_equal(store_table(r, &id, &t, &err), 1);
	copy = arena_alloc(&arena, t.len);
	meta = arena_alloc(&arena, b.meta_len);
	assert_true(copy && meta);
	memcpy(copy, t.p, t.len);
	b.meta = memcpy(meta, b.meta, b.meta_len);
	store_read_end(r);
	static_assert(sizeof(older) == sizeof(((struct rsym_disk_header *)NULL)->major), "");
	memcpy(copy + major_at, &older, sizeof(older));
	assert_int_equal(rsym_open(&(struct rsym){0}, copy, t.len, &err), ERR_UNSUPPORTED);
	assert_int_equal(store_purge(s, &id, &err), 1);
	store_close(s);
	s = open_store(older);
	b.pinned = true;
	assert_int_equal(store_put(s, &b, copy, &err), 0);
	store_close(s);
	t.p = copy;
	return t;
}

static void assert_older_has(struct build_id id, const struct store_table *want)
{
	struct store *s = open_store(RSYM_MAJOR - 1);
	struct store_table t;
	struct store_read *r;

	assert_int_equal(store_read_begin(s, &r, NULL), 0);
	assert_int_equal(store_table(r, &id, &t, NULL), 1);
	assert_int_equal(t.len, want->len);
	assert_memory_equal(t.p, want->p, t.len);
	store_read_end(r);
	store_close(s);
}

static int status_of(struct service *s, struct build_id *id)
{
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	Rawstack__V1__Binary *binary;
	struct err err;

	get.build_id = bytes_of_id(id);
	assert_int_equal(service_get(s, &get, &arena, &binary, &err), 0);
	return binary->status;
}

/* `verify` tells how many tables are of which kind. */
static void assert_verified(const char *worker, const char *first_line, const char *second_line)
{
	char command[LIMIT_PATH_LEN + 64], line[2][256] = {"", ""};
	FILE *f;

	snprintf(command, sizeof(command), "'%.*s/rawstack-symbolizer' verify --data data",
		 (int)(strrchr(worker, '/') - worker), worker);
	f = popen(command, "r");
	assert_non_null(f);
	for (size_t i = 0; i < 2; i++)
		if (!fgets(line[i], sizeof(line[i]), f))
			line[i][0] = 0;
	assert_int_equal(pclose(f), 0);
	assert_memory_equal(line[0], first_line, strlen(first_line));
	assert_memory_equal(line[1], second_line, strlen(second_line));
}

/* The only row of List. */
static Rawstack__V1__Binary *list_one(struct service *s)
{
	Rawstack__V1__ListRequest request = RAWSTACK__V1__LIST_REQUEST__INIT;
	Rawstack__V1__ListReply *reply = arena_alloc(&arena, sizeof(*reply));

	assert_non_null(reply);
	rawstack__v1__list_reply__init(reply);
	assert_int_equal(service_list(s, &request, NULL, &arena, reply, NULL), 0);
	assert_int_equal(reply->n_binaries, 1);
	return reply->binaries[0];
}

static int symbolized_status(struct service *s, struct build_id *id)
{
	Rawstack__V1__ResolveRequest request;
	Rawstack__V1__ResolveReply reply;
	uint64_t address = 1;

	rawstack__v1__resolve_request__init(&request);
	rawstack__v1__resolve_reply__init(&reply);
	request.build_id = bytes_of_id(id);
	request.addresses = &address;
	request.n_addresses = 1;
	assert_int_equal(service_resolve(s, &request, NULL, &arena, &reply, NULL), 0);
	if (reply.module->status == RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_UNSUPPORTED)
		assert_memory_equal(reply.module->reason.data, "its table is of format", 22);
	return reply.module->status;
}

/* A table of an older format is not served, not lost and not hidden: an older program finds it
 * again. It is made anew where its file was kept, and asked for where not. */
static void test_older_format(void **state _unused_)
{
	char worker[LIMIT_PATH_LEN] = "";
	struct service_config config;
	struct store_table older;
	struct buf text = BUF_INIT(1 << 20);
	Rawstack__V1__LimitsReply limits = RAWSTACK__V1__LIMITS_REPLY__INIT;
	struct service *s;
	struct build_id id;
	Rawstack__V1__Binary *row;

	if (!open_building(&s, &config, worker))
		skip();
	id = push(s, worker);
	kept_files_remove(s->kept, &id, KEPT_DEBUG);
	assert_true(service_close(s));
	assert_verified(worker, "1 tables, ", "");
	older = make_older(id);
	assert_verified(worker, "0 tables, ", "1 tables of other formats, ");

	s = open_with(&config);
	row = list_one(s);
	assert_int_equal(row->status, RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_UNSUPPORTED);
	assert_int_equal(row->other_table_bytes, older.len);
	assert_true(row->pinned && row->reason.len);
	assert_int_equal(status_of(s, &id), RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_UNSUPPORTED);
	assert_int_equal(symbolized_status(s, &id),
			 RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_UNSUPPORTED);
	service_metrics(s, &(struct service_outside){0}, &(struct openmetrics){.out = &text});
	buf_u8(&text, 0);
	assert_non_null(strstr((char *)text.p, "rawstack_store_tables 0\n"));
	assert_non_null(strstr((char *)text.p, "rawstack_store_other_tables 1\n"));
	buf_done(&text);
	service_limits(s, &limits);
	assert_int_equal(limits.store_used_bytes, older.len);
	push(s, worker); /* it is needed again */
	assert_int_equal(symbolized_status(s, &id),
			 RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY);
	row = list_one(s);
	assert_int_equal(row->other_table_bytes, older.len);
	assert_true(row->pinned); /* as it was */
	assert_true(service_close(s));
	assert_older_has(id, &older);

	/* Now the file was kept. */
	older = make_older(id);
	s = open_with(&config);
	wait_until(s, 1);
	assert_int_equal(status_of(s, &id), RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY);
	assert_true(service_close(s));
	assert_older_has(id, &older);
	assert_int_equal(system("rm -rf data"), 0);
}

/* A worker that waits while there is a file `gate`, and then fails if there is one named `fail`. */
static void make_gated_worker(char *path, size_t len, const char *bin)
{
	char here[LIMIT_PATH_LEN];
	FILE *f;

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(path, len, "%s/gated_worker", here);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f,
		"#!/bin/sh\ncd '%s'\n[ ! -e gate ] || : >waiting\n"
		"while [ -e gate ]; do sleep 0.01; done\n"
		"[ ! -e fail ] || exit 1\nexec '%s'/rawstack-table-worker \"$@\"\n",
		here, bin);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void delete_while_made_again(struct service *s, struct build_id *id)
{
	Rawstack__V1__DeleteRequest request = RAWSTACK__V1__DELETE_REQUEST__INIT;
	Rawstack__V1__DeleteReply reply = RAWSTACK__V1__DELETE_REPLY__INIT;
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	Rawstack__V1__Binary *binary;
	struct err err;

	assert_int_equal(system("rm -f waiting; : >gate"), 0);
	build_queue_rebuild(s->queue, id);
	for (int i = 0; i < 6000 && !is_there("waiting"); i++)
		usleep(10000);
	assert_true(is_there("waiting"));
	request.build_id = get.build_id = bytes_of_id(id);
	if (service_delete(s, &request, &reply, &err))
		fail_msg("%s", err.message);
	assert_true(reply.deleted);
	assert_int_equal(unlink("gate"), 0);
	for (int i = 0; i < 6000 && build_queue_is_rebuilding(s->queue, id); i++)
		usleep(10000);
	assert_false(build_queue_is_rebuilding(s->queue, id));
	assert_int_equal(service_get(s, &get, &arena, &binary, &err), 0);
	assert_int_equal(binary->status, RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_PURGED);
	for (int role = 0; role < KEPT_ROLES; role++)
		assert_false(kept_files_have(s->kept, id, (enum kept_role)role));
}

static void test_delete_while_made_again(void **state _unused_)
{
	char worker[LIMIT_PATH_LEN], program[LIMIT_PATH_LEN];
	struct service_config config;
	const char *bin = getenv("RAWSTACK_BIN");
	struct service *s;
	struct build_id id;

	if (!bin)
		skip();
	make_gated_worker(worker, sizeof(worker), bin);
	snprintf(program, sizeof(program), "%s/rawstack-table-worker", bin);
	assert_int_equal(system("rm -rf gate fail waiting"), 0);
	assert_true(open_building(&s, &config, worker));
	id = push(s, program);
	delete_while_made_again(s, &id);
	/* What is uploaded later is stored; and a build that fails leaves no reason either. */
	id = push(s, program);
	assert_int_equal(system(": >fail"), 0);
	delete_while_made_again(s, &id);
	assert_int_equal(atomic_load(&s->counts.builds), 2);
	assert_int_equal(atomic_load(&s->counts.builds_failed), 0);
	assert_true(service_close(s));
	assert_int_equal(system("rm -rf data gate fail waiting gated_worker"), 0);
}

/* A child that reads the store from when it is told to until its input ends. */
static pid_t start_foreign_reader(int *ret_go)
{
	int go[2], ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(go) | pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct kv_read *r;
		struct kv *kv;

		close(go[1]);
		if (store_kv_open_lmdb(&kv, "data", 0, 0, NULL) ||
		    kv->ops->read_begin(kv, &r, NULL) || write(ready[1], "", 1) != 1)
			_exit(1);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*ret_go = go[1];
	return pid;
}

static bool is_postponed(struct service *s)
{
	bool postponed;

	pthread_mutex_lock(&s->uploads->lock);
	postponed = s->uploads->list && s->uploads->list->not_before_ns;
	pthread_mutex_unlock(&s->uploads->lock);
	return postponed;
}

/* Ends the reader, whose input this is, once the upload has found no room. */
static void end_reader(struct service *s, void *arg)
{
	int *go = arg;

	for (int i = 0; i < 6000 && !is_postponed(s); i++)
		usleep(10000);
	assert_true(is_postponed(s));
	close(*go);
}

/* While a backup reads a full store, what is uploaded waits; no table goes for it, and it is built
 * when that has ended. */
static void test_full_beside_a_backup(void **state _unused_)
{
	char worker[LIMIT_PATH_LEN] = "";
	const uint64_t len = 1 << 20;
	uint8_t *table = arena_alloc(&arena, len);
	struct service_config config;
	struct store_stat stat;
	struct service *s;
	struct err err;
	uint64_t before;
	int go, rc = 0;
	pid_t pid;

	if (!open_building(&s, &config, worker))
		skip();
	assert_non_null(table);
	memset(table, 1, len);
	assert_true(service_close(s));
	config.store_bytes = 8 << 20;
	assert_int_equal(system("rm -rf data"), 0);
	s = open_with(&config);
	for (uint32_t n = 0; n < 12; n++)
		assert_int_equal(store_put(s->store,
					   &(struct store_binary){.id = id_of(n),
								  .status = STORE_READY,
								  .meta = "",
								  .table_len = len},
					   table, &err),
				 0);
	assert_true(service_close(s));
	pid = start_foreign_reader(&go); /* a fork wants a process of one thread */
	s = open_with(&config);
	for (uint32_t n = 100; !rc; n++)
		rc = store_put(s->store,
			       &(struct store_binary){.id = id_of(n),
						      .status = STORE_READY,
						      .meta = "",
						      .table_len = 30000},
			       table, &err);
	assert_int_equal(rc, ERR_UNAVAILABLE);
	store_stat(s->store, &stat);
	before = stat.ready_count;
	push_and(s, worker, end_reader, &go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	store_stat(s->store, &stat);
	assert_in_range(stat.ready_count, before - 1, before + 1);
	assert_true(service_close(s));
	assert_int_equal(system("rm -rf data"), 0);
}

/* Nothing that is sent is looked into by the service itself: with a worker that does nothing, it
 * does not even know that these have other ids than declared, or are no tables. */
static void test_only_the_worker_reads(void **state _unused_)
{
	static const Rawstack__V1__BinaryKind kinds[] = {
		RAWSTACK__V1__BINARY_KIND__BINARY_KIND_UNSPECIFIED,
		RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DEBUG,
		RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE,
		RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT,
		RAWSTACK__V1__BINARY_KIND__BINARY_KIND_TABLE,
	};
	char worker[LIMIT_PATH_LEN] = "/bin/false", good[LIMIT_PATH_LEN];
	const char *bin = getenv("RAWSTACK_BIN");
	struct service_config config;
	struct service *s;

	if (!open_building(&s, &config, worker))
		skip();
	snprintf(good, sizeof(good), "%s/rawstack-table-worker", bin);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
		const struct build_id id = id_of((uint32_t)i);

		request.kind = kinds[i];
		request.build_id = bytes_of_id(&id);
		assert_int_equal(push_as(s, good, &request, NULL, NULL), ERR_INTERNAL);
	}
	assert_true(service_close(s));
	assert_int_equal(system("rm -rf data"), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_older_format),
		cmocka_unit_test(test_newer_builder),
		cmocka_unit_test(test_delete_while_made_again),
		cmocka_unit_test(test_full_beside_a_backup),
		cmocka_unit_test(test_only_the_worker_reads),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
