/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "binary_meta.h"
#include "data_dir.h"
#include "event.h"
#include "libexec.h"
#include "limits.h"
#include "log.h"
#include "rsym_format.h"
#include "service_priv.h"
#include "store_pages.h"
#include "timed_wait.h"

/* The memory of names and paths between requests: twice that of a large program. */
#define LIMIT_NAME_CACHE   (20 * MIB)
/* Memory of finished replies that is kept for the next request. */
#define LIMIT_IDLE_REPLIES (24 * MIB)

enum {
	MAINTAIN_SECONDS = 60,
	REST_SECONDS = 10,
	STOP_BUILDERS_MS = 700,
};

int service_id(struct build_id *id, const ProtobufCBinaryData *field, struct err *err)
{
	if (build_id_set(id, BUILD_ID_GNU, field->data, field->len, err))
		return err_set(err, ERR_DATA, "build_id: %zu bytes, not %d to %d", field->len,
			       BUILD_ID_MIN, BUILD_ID_MAX);
	return 0;
}

int service_find_id(struct service *s, struct build_id *id, const ProtobufCBinaryData *field,
		    struct err *err)
{
	TRY(service_id(id, field, err));
	return service_find_alias(s, id, err);
}

int service_find_alias(struct service *s, struct build_id *id, struct err *err)
{
	struct store_read *r;

	TRY(service_store_error(store_read_begin(s->store, &r, err), err));
	*id = store_resolve_alias(r, id);
	store_read_end(r);
	return 0;
}

/* --- open and close -------------------------------------------------------------------------- */

/* Makes the entry of a new data directory durable, if its parent may be opened. */
static void sync_name(const struct service *s)
{
	_cleanup_(closep) int fd = openat(s->data_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)fsync(fd);
}

static int lock_data(struct service *s, const char *dir, struct err *err)
{
	bool is_new = !mkdir(dir, 0700);

	if (!is_new && errno != EEXIST)
		return err_sys(err, errno, "%s", dir);
	s->data_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->data_fd < 0)
		return err_sys(err, errno, "%s", dir);
	/* Otherwise anybody could replace files that were checked. */
	TRY(io_check_writers(s->data_fd, dir, err));
	if (is_new)
		sync_name(s);
	return data_dir_lock(dir, s->data_fd, &s->lock_of_data, err);
}

static void on_damaged(void *ctx, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_MAX];

	log_warn("the table of %s was damaged and is removed; " STORE_DAMAGED_ADVICE,
		 build_id_hex(id, hex));
	build_queue_rebuild(((struct service *)ctx)->queue, id);
}

/* Returns the name of the part of the data directory that was removed or replaced under the
 * service, or NULL. */
static const char *find_gone_part(const struct service *s)
{
	if (!data_dir_has_part(s->data_fd, "uploads", uploads_dir(s->uploads)))
		return "uploads";
	return data_dir_has_part(s->data_fd, "kept", kept_files_dir(s->kept)) ? NULL : "kept";
}

/* Logs what an operator has to know of the store, once each. Returns true if the store can do
 * nothing more. */
static bool tell_of_store(struct service *s, bool *told_damage)
{
	const char *part = find_gone_part(s);
	struct store_stat stat;

	store_stat(s->store, &stat);
	if (stat.damaged && !*told_damage) {
		*told_damage = true;
		log_error("%s/store.mdb: damaged while it is open: some binaries are not "
			  "found; " STORE_DAMAGED_ADVICE,
			  s->data_dir);
	}
	if (stat.failed)
		log_error("a write to the store failed half-way, so the store has to be opened "
			  "anew and the service ends");
	else if (stat.gone)
		log_error("%s/store.mdb is not the file any more that was opened: it was removed "
			  "or exchanged, or its disk unmounted; the service ends",
			  s->data_dir);
	else if (part)
		log_error("%s/%s is not the directory any more that was opened: it was removed or "
			  "exchanged, or its disk unmounted; the service ends, and makes it anew "
			  "at its start",
			  s->data_dir, part);
	return stat.failed || stat.gone || part;
}

/* Returns whether somebody else has the data directory by now. */
static bool is_taken_away(struct service *s)
{
	struct err err;
	int rc = data_dir_check_lock(s->data_dir, &s->lock_of_data, &err);

	if (rc > 0)
		log_warn("%s", err.message);
	if (rc < 0)
		log_error("%s; the service ends", err.message);
	return rc < 0;
}

/* The keeper's thread. It writes missing ids once a second, maintains the store once a minute, and
 * frees memory in between. */
static void *run_upkeep(void *arg)
{
	struct service *s = arg;
	const unsigned int rest =
		s->maintain_seconds < REST_SECONDS ? s->maintain_seconds : REST_SECONDS;
	unsigned int seconds = 0;
	bool told = false, told_damage = false;

	pthread_mutex_lock(&s->lock);
	while (!s->stopped) {
		const struct timespec until = timed_wait_until(1000);

		if (pthread_cond_timedwait(&s->wake, &s->lock, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&s->lock);
		store_flush_missing(s->store, NULL);
		retention_step(s->retention, s->maintain_seconds * UINT64_C(1000000000));
		event_tell_left_out(false);
		if (!told && (tell_of_store(s, &told_damage) || is_taken_away(s))) {
			told = true;
			if (s->failed)
				s->failed(s->failed_ctx);
		}
		if (++seconds % rest == 0)
			service_rest(s, seconds % s->maintain_seconds == 0);
		if (seconds % s->maintain_seconds == 0) {
			store_maintain(s->store);
			store_scrub(s->store, LIMIT_SCRUB_LEN, on_damaged, s);
		}
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Tells the watches of a binary under each of its names, because clients wait for one of them. */
static void tell_watches(struct service *s, const struct build_id *id, bool failed,
			 uint64_t generation)
{
	struct watch_event event = {.id = *id, .failed = failed, .generation = generation};
	struct store_id_aliases aliases;
	struct store_read *r;

	watches_tell(s->watches, &event);
	if (store_read_begin(s->store, &r, NULL))
		return;
	store_id_aliases(r, id, &aliases);
	event.is_alias = true;
	for (size_t i = 0; i < aliases.count; i++) {
		const struct build_id found = store_resolve_alias(r, &aliases.ids[i]);

		event.id = aliases.ids[i];
		if (build_id_equal(&found, id))
			watches_tell(s->watches, &event);
	}
	store_read_end(r);
}

static void on_build_ended(void *ctx, const struct build_id *id, bool failed, uint64_t generation)
{
	struct service *s = ctx;

	atomic_fetch_add(failed ? &s->counts.builds_failed : &s->counts.builds, 1);
	tell_watches(s, id, failed, generation);
}

/* Records the version in a new store. A program of another version refuses the store. */
static int stamp_store(struct service *s, struct err *err)
{
	uint64_t version;
	int rc = store_meta_get(s->store, STORE_VERSION_NAME, &version, err);

	s->is_new = rc == 0;
	return rc == 0  ? store_meta_put(s->store, STORE_VERSION_NAME, STORE_VERSION, err)
	       : rc < 0 ? rc
			: 0;
}

/* An operator who expects tables has to see that there are none: their disk may not be mounted. */
void service_tell_empty(struct service *s)
{
	struct store_stat stat;

	store_stat(s->store, &stat);
	if (!stat.ready_count && !stat.other_count)
		log_info("%s/store.mdb: %s; if there should be tables, see whether its file system "
			 "is mounted",
			 s->data_dir,
			 s->is_new ? "there was none, a new store is made" : "it has no tables");
}

static void tell_others(struct service *s)
{
	struct store_stat stat;

	store_stat(s->store, &stat);
	if (stat.other_count)
		log_info("%llu tables of other formats, %llu bytes, stay for the program that "
			 "reads them, and are evicted first. Those whose files were kept are built "
			 "again in the present format",
			 (unsigned long long)stat.other_count,
			 (unsigned long long)stat.other_bytes);
}

/*
 * Opens the worker's program as it is now. An upgrade installs another one beside a running
 * service, and the two may not understand each other. The child finds the program by this process's
 * descriptor in /proc, because it does not inherit it. Without /proc, or without a worker, the path
 * is used at each build.
 */
static const char *open_worker(struct service *s, const char *path)
{
	char found[LIMIT_PATH_LEN];

	if (!path && libexec_find("rawstack-table-worker", found, NULL))
		return NULL;
	s->worker_fd = open(path ? path : found, O_PATH | O_CLOEXEC);
	if (s->worker_fd < 0)
		return path;
	snprintf(s->worker_path, sizeof(s->worker_path), "/proc/%d/fd/%d", (int)getpid(),
		 s->worker_fd);
	return access(s->worker_path, X_OK) ? path : s->worker_path;
}

static int open_parts(struct service *s, const struct service_config *config, struct err *err)
{
	struct build_queue_config queue = {.worker_path = open_worker(s, config->worker_path)};
	struct kv *kv;
	int rc;

	TRY(lock_data(s, config->data_dir, err));
	s->data_dir = config->data_dir;
	TRY(config->memory_store ? store_kv_open_memory(&kv, config->store_bytes, err)
				 : store_kv_open_lmdb(&kv, config->data_dir, config->store_bytes,
						      LIMIT_DISK_FLOOR, err));
	TRY(store_open(&s->store, kv, config->store_bytes,
		       config->table_format ? config->table_format : RSYM_MAJOR, err));
	TRY(stamp_store(s, err));
	store_fit(s->store, NULL); /* as far as pins let it */
	s->tables = tables_new(err);
	s->names = name_cache_new(LIMIT_NAME_CACHE, err);
	s->pool = symbolize_pool_new(LIMIT_IDLE_REPLIES, err);
	if (!s->tables || !s->names || !s->pool)
		return ERR_MEMORY;
	TRY(uploads_open(&s->uploads, s->data_fd, err));
	uploads_set_connected(s->uploads, config->connected);
	s->watches = watches_new(err);
	if (!s->watches)
		return ERR_MEMORY;
	TRY(kept_files_open(&s->kept, s->data_fd, service_kept_bytes(config), err));
	/* Makes the names of the files and directories made so far durable, as their content is. */
	if (fsync(s->data_fd))
		return err_sys(err, errno, "%s", config->data_dir);
	queue.store = s->store;
	queue.kept = s->kept;
	queue.keep_all = config->keep_debug;
	queue.keep_failed = config->keep_failed;
	queue.builder_version = config->builder_version;
	queue.ended = on_build_ended;
	queue.ctx = s;
	queue.uploads = s->uploads;
	s->builders = config->builders ? config->builders : SERVICE_BUILDERS;
	s->limits = service_build_limits(config);
	queue.builders = s->builders;
	queue.limits = s->limits;
	TRY(build_queue_open(&s->queue, &queue, err));
	s->retention = retention_new(s->store, s->queue, err);
	if (!s->retention)
		return ERR_MEMORY;
	retention_set(s->retention, &config->retain);
	tell_others(s);
	rc = pthread_create(&s->keeper, NULL, run_upkeep, s);
	if (rc)
		return err_sys(err, rc, "maintenance thread");
	s->keeper_running = true;
	return 0;
}

int service_open(struct service **ret, const struct service_config *config, struct err *err)
{
	struct service *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_no_memory(err);
	s->data_fd = s->worker_fd = -1;
	s->lock_of_data = DIR_LOCK_NONE;
	s->failed = config->failed;
	s->version = config->version;
	s->started_unix_ns = io_system()->real_ns(NULL);
	s->failed_ctx = config->failed_ctx;
	s->maintain_seconds =
		config->maintain_seconds ? config->maintain_seconds : MAINTAIN_SECONDS;
	pthread_mutex_init(&s->lock, NULL);
	timed_wait_init(&s->wake);
	rc = open_parts(s, config, err);
	if (rc) {
		service_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void service_stop(struct service *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->uploads)
		uploads_stop(s->uploads);
	if (s->watches)
		watches_stop(s->watches);
}

bool service_close(struct service *s)
{
	if (!s)
		return true;
	service_stop(s);
	if (s->keeper_running)
		pthread_join(s->keeper, NULL);
	s->keeper_running = false;
	event_tell_left_out(true);
	if (s->queue && !build_queue_stop(s->queue, STOP_BUILDERS_MS))
		return false;
	if (s->uploads && !uploads_ended(s->uploads, STOP_BUILDERS_MS))
		return false;
	retention_free(s->retention);
	build_queue_close(s->queue);
	uploads_close(s->uploads);
	kept_files_close(s->kept);
	watches_free(s->watches);
	tables_free(s->tables);
	name_cache_free(s->names);
	symbolize_pool_free(s->pool);
	store_close(s->store);
	closep(&s->worker_fd);
	data_dir_unlock(&s->lock_of_data);
	closep(&s->data_fd);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return true;
}

/* --- Symbolizer ------------------------------------------------------------------------------ */

bool service_is_building(void *ctx, const struct build_id *id)
{
	struct service *s = ctx;

	return uploads_is_building(s->uploads, id) || build_queue_is_rebuilding(s->queue, id);
}

static bool remake_table(void *ctx, const struct build_id *id)
{
	return build_queue_remake(((struct service *)ctx)->queue, id);
}

int service_check_caller(const struct service_caller *caller, struct err *err)
{
	return caller && caller->cancelled(caller->arg)
		       ? err_set(err, ERR_CANCELLED, "nobody waits for the answer")
		       : 0;
}

int service_store_error(int rc, struct err *err)
{
	if (rc != ERR_DATA)
		return rc;
	if (err)
		err->code = ERR_DAMAGED;
	return ERR_DAMAGED;
}

struct symbolize_env service_env(struct service *s, const struct service_caller *caller)
{
	return (struct symbolize_env){
		.store = s->store,
		.tables = s->tables,
		.names = s->names,
		.is_building = service_is_building,
		.remake = remake_table,
		.damaged = on_damaged,
		.ctx = s,
		.now_ns = io_system()->real_ns(NULL),
		.cancelled = caller ? caller->cancelled : NULL,
		.cancelled_arg = caller ? caller->arg : NULL,
		.client = caller ? caller->client : 0,
	};
}

int service_look_up(struct service *s, struct symbolize *work, const struct symbolize_env *env,
		    const Rawstack__V1__StackBatch *batch, struct err *err)
{
	const uint64_t begin_ns = io_mono_ns();
	int rc = symbolize_run(work, env, batch, err);

	histogram_add_since(&s->lookup_times, begin_ns);
	return rc;
}

int service_symbolize(struct service *s, const Rawstack__V1__StackBatch *batch,
		      const struct service_caller *caller, struct symbolize **ret, struct err *err)
{
	struct symbolize *work = symbolize_pool_get(s->pool, err);
	struct symbolize_env env = service_env(s, caller);
	int rc;

	if (!work)
		return ERR_MEMORY;
	rc = service_look_up(s, work, &env, batch, err);
	if (rc)
		service_symbolize_done(s, work);
	else
		service_count_reply(s, symbolize_reply(*ret = work));
	return rc;
}

void service_count_reply(struct service *s, const Rawstack__V1__SymbolizedBatch *reply)
{
	atomic_fetch_add(&s->counts.batches, 1);
	atomic_fetch_add(&s->counts.locations, reply->n_status);
	atomic_fetch_add(&s->counts.frames, reply->n_frame_function);
	atomic_fetch_add(&s->counts.deferred, reply->deferred);
}

void service_symbolize_done(struct service *s, struct symbolize *work)
{
	symbolize_pool_put(s->pool, work);
}
