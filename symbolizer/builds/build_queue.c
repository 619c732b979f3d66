/* SPDX-License-Identifier: Apache-2.0 */
#include "build_queue.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "binary_meta.h"
#include "build_table.h"
#include "intern.h"
#include "limits.h"
#include "log.h"
#include "timed_wait.h"
#include "upload_check.h"

/* Tables that wait to be made again. */
#define LIMIT_REBUILDS LIMIT(100000)

enum {
	REBUILD_TRIES = 256,
	REBUILD_TRY_SECONDS = 60, /* between two rebuilds of one id */
	TELL_SECONDS = 60,
};

struct build_worker {
	struct build_queue *q;
	pthread_t thread;
	/* Under store_lock. */
	struct build_id id; /* id of the build that runs */
	bool busy, deleted;
	bool lacking; /* used by this worker's thread only */
};

struct build_queue {
	struct build_queue_config config;
	pthread_mutex_t lock;
	pthread_cond_t ended, wake;
	struct intern rebuilds;       /* ids to rebuild; those below rebuilds_next are done */
	struct intern rebuilds_after; /* ids to rebuild once more after that */
	size_t rebuilds_next;
	bool rebuild_runs; /* the rebuild before rebuilds_next is running */
	struct {
		struct build_id id;
		uint64_t mono_ns;
	} tries[REBUILD_TRIES]; /* recent rebuild attempts, a ring */
	size_t next_try;
	bool stopped;
	uint64_t told_ns;           /* when the log last heard of what builds lack; monotonic */
	pthread_mutex_t store_lock; /* held from reading a record until its successor is stored */
	unsigned int running;
	unsigned int thread_count;
	struct build_worker workers[]; /* the first one rebuilds, the others build uploads */
};

static void rebuild_users(struct build_queue *q, const struct build_id *alt);
static void build_queue_stop_rebuilds(struct build_queue *q);

/* Notes the begin of a build, so that build_queue_delete() can tell it that its id is deleted. */
static void begin_build(struct build_worker *m, const struct build_id *id)
{
	pthread_mutex_lock(&m->q->store_lock);
	m->id = *id;
	m->busy = true;
	m->deleted = false;
	pthread_mutex_unlock(&m->q->store_lock);
}

static void end_build(struct build_worker *m)
{
	pthread_mutex_lock(&m->q->store_lock);
	m->busy = false;
	pthread_mutex_unlock(&m->q->store_lock);
}

int build_queue_remove(struct build_queue *q, const struct build_id *id,
		       int (*purge)(void *ctx, struct store *store, const struct build_id *id,
				    struct err *err),
		       void *ctx, struct err *err)
{
	int rc, removed = 0;

	pthread_mutex_lock(&q->store_lock);
	rc = purge ? purge(ctx, q->config.store, id, err) : store_purge(q->config.store, id, err);
	if (rc > 0 || (!purge && !rc))
		removed = kept_files_remove_all(q->config.kept, id, err);
	for (unsigned int i = 0; i < q->thread_count && (rc || !purge); i++)
		if (q->workers[i].busy && build_id_equal(&q->workers[i].id, id))
			q->workers[i].deleted = true;
	pthread_mutex_unlock(&q->store_lock);
	return removed ? removed : rc;
}

static struct build_env env_of(struct build_worker *m)
{
	struct build_queue *q = m->q;
	struct build_env env;

	pthread_mutex_lock(&q->lock);
	env = (struct build_env){
		.store = q->config.store,
		.kept = q->config.kept,
		.temporary_fd = uploads_dir(q->config.uploads),
		.worker_path = q->config.worker_path,
		.limits = q->config.limits,
		.keep_all = q->config.keep_all,
		.keep_failed = q->config.keep_failed,
		.ended = q->config.ended,
		.ctx = q->config.ctx,
		.store_lock = &q->store_lock,
		.deleted = &m->deleted,
		.lacking = &m->lacking,
	};
	pthread_mutex_unlock(&q->lock);
	return env;
}

void build_queue_configure(struct build_queue *q, const struct build_limits *limits, bool keep_all,
			   bool keep_failed)
{
	pthread_mutex_lock(&q->lock);
	q->config.limits = *limits;
	q->config.keep_all = keep_all;
	q->config.keep_failed = keep_failed;
	pthread_mutex_unlock(&q->lock);
}

/* Gives an upload back, and logs why at most once a minute, because it may be retried every few
 * seconds. */
static void give_back(struct build_queue *q, struct upload *up, const struct err *why)
{
	struct upload_result result = {.code = ERR_UNAVAILABLE, .id = up->id};
	uint64_t now = io_mono_ns();
	struct err err;

	err_set(&err, ERR_UNAVAILABLE,
		"no table can be made at this moment: %s; nothing is lost, finish the upload again "
		"later",
		why->message);
	pthread_mutex_lock(&q->lock);
	if (!q->told_ns || now - q->told_ns > TELL_SECONDS * UINT64_C(1000000000)) {
		q->told_ns = now;
		log_error("%s", err.message);
	}
	pthread_mutex_unlock(&q->lock);
	result.message = err.message;
	uploads_give_back(q->config.uploads, up, &result);
}

static void build_upload(struct build_worker *m, struct upload *up)
{
	struct build_queue *q = m->q;
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	const struct build_env env = env_of(m);
	struct build_job job = {.id = up->id, .begin = up->begin, .fd = up->fd};
	struct upload_result result = {.id = up->id};
	Rawstack__V1__BuildReport *report = NULL;
	struct err err = {0};
	bool spoiled;

	begin_build(m, &up->id);
	m->lacking = false;
	result.code = upload_check_digest(up, &err);
	m->lacking = build_table_is_lack(result.code);
	/* The client that finished a mixed upload may have sent nothing wrong itself. */
	spoiled = result.code == ERR_DATA && up->mixed;
	if (!result.code) {
		result.code = upload_check_id(up, q->config.worker_path, &job.summary, &err);
		if (result.code && result.code != ERR_DATA)
			result.code = build_table_unread(&env, &job, &arena, &err);
	}
	if (!result.code)
		result.code = upload_check_id_alias(up, q->config.store, &err);
	if (!result.code)
		result.code = build_table(&env, &job, &arena, &report, &err);
	end_build(m);
	if (m->lacking) {
		give_back(q, up, &err);
		return;
	}
	if (result.code == ERR_UNAVAILABLE) {
		log_warn("%s", err.message);
		uploads_postpone(q->config.uploads, up);
		return;
	}
	if (!result.code && up->begin->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT)
		rebuild_users(q, &up->id);
	if (spoiled)
		result.code =
			err_set(&err, ERR_UNAVAILABLE,
				"several clients have sent parts of the file, and together they "
				"differ from what was declared: begin again, from the start");
	result.message = err.message;
	result.report = result.code ? NULL : report;
	uploads_done(q->config.uploads, up, &result);
}

/* --- rebuilds -------------------------------------------------------------------------------- */

/* The caller holds q->lock. */
static bool is_waiting(const struct build_queue *q, const struct build_id *id)
{
	uint32_t i = intern_find(&q->rebuilds, id->bytes, id->len);

	return (i != INTERN_FULL && i >= q->rebuilds_next) ||
	       intern_find(&q->rebuilds_after, id->bytes, id->len) != INTERN_FULL;
}

static bool is_running(const struct build_queue *q, const struct build_id *id)
{
	uint32_t i = intern_find(&q->rebuilds, id->bytes, id->len);

	return i != INTERN_FULL && q->rebuild_runs && i + 1 == q->rebuilds_next;
}

static bool add_rebuild(struct build_queue *q, const struct build_id *id)
{
	bool is_known = intern_find(&q->rebuilds, id->bytes, id->len) != INTERN_FULL;

	if (is_waiting(q, id))
		return true;
	if (intern_add(is_known ? &q->rebuilds_after : &q->rebuilds, id->bytes, id->len, NULL) ==
	    INTERN_FULL)
		return false;
	pthread_cond_broadcast(&q->wake);
	return true;
}

/* Notes an attempt to rebuild the id. Returns false if one was made a moment ago. */
static bool note_try(struct build_queue *q, const struct build_id *id)
{
	uint64_t now = io_mono_ns();

	for (size_t i = 0; i < REBUILD_TRIES; i++)
		if (q->tries[i].mono_ns && build_id_equal(&q->tries[i].id, id) &&
		    now - q->tries[i].mono_ns < REBUILD_TRY_SECONDS * UINT64_C(1000000000))
			return false;
	q->tries[q->next_try].id = *id;
	q->tries[q->next_try].mono_ns = now;
	q->next_try = (q->next_try + 1) % REBUILD_TRIES;
	return true;
}

static bool has_kept(struct build_queue *q, const struct build_id *id)
{
	return kept_files_have(q->config.kept, id, KEPT_DEBUG) ||
	       kept_files_have(q->config.kept, id, KEPT_EXECUTABLE);
}

void build_queue_rebuild(struct build_queue *q, const struct build_id *id)
{
	/* Without a kept file nothing can be built, and the id would be reported as building and
	 * not as missing. */
	if (!has_kept(q, id))
		return;
	pthread_mutex_lock(&q->lock);
	add_rebuild(q, id);
	pthread_mutex_unlock(&q->lock);
}

bool build_queue_remake(struct build_queue *q, const struct build_id *id)
{
	bool ret;

	if (!has_kept(q, id))
		return false;
	pthread_mutex_lock(&q->lock);
	ret = is_waiting(q, id) || is_running(q, id) || (note_try(q, id) && add_rebuild(q, id));
	pthread_mutex_unlock(&q->lock);
	return ret;
}

bool build_queue_is_rebuilding(struct build_queue *q, const struct build_id *id)
{
	bool ret;

	pthread_mutex_lock(&q->lock);
	ret = is_waiting(q, id) || is_running(q, id);
	pthread_mutex_unlock(&q->lock);
	return ret;
}

/* Queues a rebuild of every id for whose record wanted() is true. */
static void rebuild_where(struct build_queue *q,
			  bool (*wanted)(struct build_queue *q, const struct store_binary *b,
					 const Rawstack__V1__Binary *m, const struct build_id *alt),
			  const struct build_id *alt)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	const struct build_id *after = NULL;
	struct store_binary b;
	struct store_read *r;
	struct build_id at;

	if (store_read_begin(q->config.store, &r, NULL))
		return;
	while (store_binary_next(r, after, &b, NULL) == 1) {
		const Rawstack__V1__Binary *m = binary_meta_message(&b, &arena);

		at = b.id;
		after = &at;
		if (m && wanted(q, &b, m, alt))
			build_queue_rebuild(q, &b.id);
		arena_reset(&arena);
	}
	store_read_end(r);
}

static bool refers_to_alt(struct build_queue *q _unused_, const struct store_binary *b,
			  const Rawstack__V1__Binary *m, const struct build_id *alt)
{
	if (b->status != STORE_READY || !m->report)
		return false;
	for (size_t i = 0; i < m->report->n_missing; i++) {
		const ProtobufCBinaryData *id = &m->report->missing[i]->build_id;

		if (m->report->missing[i]->kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT &&
		    id->len == alt->len && !memcmp(id->data, alt->bytes, alt->len))
			return true;
	}
	return false;
}

static void rebuild_users(struct build_queue *q, const struct build_id *alt)
{
	rebuild_where(q, refers_to_alt, alt);
}

/* Returns whether an older builder or a program of another table format made the table. */
static bool table_is_outdated(struct build_queue *q, const struct store_binary *b,
			      const Rawstack__V1__Binary *m, const struct build_id *alt _unused_)
{
	if (b->status != STORE_OTHER &&
	    (b->status != STORE_READY || !m->report || m->report->client_built ||
	     m->report->builder_version >= q->config.builder_version))
		return false;
	return has_kept(q, &b->id);
}

/* Waits for the next id to rebuild and takes it. Returns false once the queue is stopped. */
static bool take_rebuild(struct build_queue *q, struct build_id *ret)
{
	const void *p;
	bool goes_on;
	size_t len;

	pthread_mutex_lock(&q->lock);
	q->rebuild_runs = false;
	while (!q->stopped && q->rebuilds_next == q->rebuilds.count) {
		struct intern done = q->rebuilds;

		intern_reset(&done);
		q->rebuilds = q->rebuilds_after;
		q->rebuilds_after = done;
		q->rebuilds_next = 0;
		if (!q->rebuilds.count)
			pthread_cond_wait(&q->wake, &q->lock);
	}
	if (!q->stopped) {
		p = intern_get(&q->rebuilds, (uint32_t)q->rebuilds_next++, &len);
		build_id_set(ret, BUILD_ID_GNU, p, len, NULL);
		q->rebuild_runs = true;
	}
	goes_on = !q->stopped;
	pthread_mutex_unlock(&q->lock);
	return goes_on;
}

static void *run_rebuilder(void *arg)
{
	struct build_worker *m = arg;
	struct build_queue *q = m->q;
	const struct build_env env = env_of(m);
	struct build_job job = {.fd = -1};
	struct err err;

	rebuild_where(q, table_is_outdated, NULL);
	while (take_rebuild(q, &job.id)) {
		_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
		Rawstack__V1__BuildReport *report;

		if (uploads_is_building(q->config.uploads, &job.id))
			continue;
		begin_build(m, &job.id);
		if (build_table(&env, &job, &arena, &report, &err) && err.code != ERR_NOT_FOUND)
			log_warn("%s", err.message);
		end_build(m);
	}
	pthread_mutex_lock(&q->lock);
	q->running--;
	pthread_cond_broadcast(&q->ended);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Gives up an upload of an earlier run, before the workers run. The lock of `uploads` is held. */
static void give_up_upload(void *ctx, const struct upload *up)
{
	const struct build_env env = env_of(ctx);

	build_table_give_up(&env,
			    &(struct build_job){.id = up->id, .begin = up->begin, .fd = up->fd});
}

static void *run_builder(void *arg)
{
	struct build_worker *m = arg;
	struct build_queue *q = m->q;
	struct upload *up;

	while ((up = uploads_take(q->config.uploads)))
		build_upload(m, up);
	pthread_mutex_lock(&q->lock);
	q->running--;
	pthread_cond_broadcast(&q->ended);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int build_queue_open(struct build_queue **ret, const struct build_queue_config *config,
		     struct err *err)
{
	unsigned int count = config->builders;
	struct build_queue *q = calloc(1, sizeof(*q) + (count + 1) * sizeof(q->workers[0]));

	if (!q)
		return err_no_memory(err);
	q->config = *config;
	uploads_set_builders(config->uploads, count);
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->store_lock, NULL);
	timed_wait_init(&q->ended);
	pthread_cond_init(&q->wake, NULL);
	q->rebuilds = (struct intern)INTERN_INIT(LIMIT_REBUILDS, LIMIT_REBUILDS * BUILD_ID_MAX);
	q->rebuilds_after = q->rebuilds;
	if (!q->config.builder_version)
		q->config.builder_version = TABLE_BUILDER_VERSION;
	q->workers[0].q = q;
	uploads_each_given_up(q->config.uploads, give_up_upload, &q->workers[0]);
	for (; q->thread_count <= count; q->thread_count++) {
		int rc;

		pthread_mutex_lock(&q->lock);
		q->running++;
		pthread_mutex_unlock(&q->lock);
		q->workers[q->thread_count].q = q;
		rc = pthread_create(&q->workers[q->thread_count].thread, NULL,
				    q->thread_count ? run_builder : run_rebuilder,
				    &q->workers[q->thread_count]);
		if (rc) {
			pthread_mutex_lock(&q->lock);
			q->running--;
			pthread_mutex_unlock(&q->lock);
			uploads_stop(config->uploads);
			build_queue_stop_rebuilds(q);
			build_queue_close(q);
			return err_sys(err, rc, "builder thread");
		}
	}
	*ret = q;
	return 0;
}

static void build_queue_stop_rebuilds(struct build_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->lock);
}

bool build_queue_stop(struct build_queue *q, unsigned int timeout_ms)
{
	const struct timespec until = timed_wait_until(timeout_ms);
	bool ended;
	int rc = 0;

	build_queue_stop_rebuilds(q);
	pthread_mutex_lock(&q->lock);
	while (q->running && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&q->ended, &q->lock, &until);
	ended = !q->running;
	pthread_mutex_unlock(&q->lock);
	return ended;
}

void build_queue_close(struct build_queue *q)
{
	if (!q)
		return;
	for (unsigned int i = 0; i < q->thread_count; i++)
		pthread_join(q->workers[i].thread, NULL);
	pthread_cond_destroy(&q->ended);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->store_lock);
	intern_done(&q->rebuilds);
	intern_done(&q->rebuilds_after);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
