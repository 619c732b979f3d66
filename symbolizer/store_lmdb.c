/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on LMDB: one file whose map size is the disk budget, so that it can never exceed it.
 * Default sync; never WRITEMAP (a full disk would kill the process) nor NOSYNC. NOTLS, because
 * snapshots belong to requests and not to threads; NORDAHEAD, because lookups touch few pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "data_dir.h"
#include "io.h"
#include "limits.h"
#include "store_kv.h"
#include "store_lmdb_layout.h"
#include "store_pages.h"
#include "timed_wait.h"

enum {
	READERS_MAX = 1024,
	PURGE_PAGES = 64, /* a few pages of each tree, and of the list of free ones */
	POOL_MAX = 64
};

struct kv_lmdb {
	struct kv kv;
	MDB_env *env;
	MDB_dbi tables[KV_TABLE_COUNT];
	int fd; /* LMDB's own descriptor of the file */
	char path[LIMIT_PATH_LEN];
	pthread_mutex_t lock; /* of what follows; the writer's turn is LMDB's own */
	struct kv_read *pool; /* reset, each keeps its reader slot */
	size_t pool_count;
	/* Snapshots that are in use, by the phase in which they began: a new phase is begun only
	 * when the one before the last is empty, so that there are two. */
	unsigned int phase;
	size_t active[2];
	pthread_cond_t ended;            /* the last of a phase */
	struct kv_read *oldest, *newest; /* of those in use, by begin */
	uint64_t max_bytes, disk_floor;
	bool read_only;
	atomic_bool failed;
};

struct kv_read {
	struct kv_read *next, *previous; /* of the pool, or of those in use */
	uint64_t begin_ns;
	struct kv_lmdb *m;
	MDB_txn *txn;
	unsigned int phase;
};

static int fail(struct kv_lmdb *m, int rc, const char *what, struct err *err)
{
	struct statvfs st;

	switch (rc) {
	case MDB_MAP_FULL:
		return err_set(err, ERR_LIMIT, "%s: the store is full", m->path);
	case ENOMEM:
		return err_set(err, ERR_MEMORY, "%s: out of memory", m->path);
	case EIO: /* what LMDB makes of a short write */
	case ENOSPC:
		if (!fstatvfs(m->fd, &st) && st.f_bavail < 1024)
			return err_set(err, ERR_IO, "%s: the disk is full", m->path);
		return err_sys(err, rc, "%s: %s", m->path, what);
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
		return err_set(err, ERR_DATA, "%s: %s: %s", m->path, what, mdb_strerror(rc));
	case MDB_PANIC:
		/* The fault of no request, and it does not pass: see kv_stat. */
		atomic_store(&m->failed, true);
		return err_set(err, ERR_UNAVAILABLE, "%s: a write failed half-way", m->path);
	case MDB_READERS_FULL:
		return err_set(err, ERR_UNAVAILABLE, "%s: more than %d readers", m->path,
			       READERS_MAX);
	default:
		if (rc > 0)
			return err_sys(err, rc, "%s: %s", m->path, what);
		return err_set(err, ERR_INTERNAL, "%s: %s: %s", m->path, what, mdb_strerror(rc));
	}
}

static MDB_val val_of(struct kv_bytes b)
{
	MDB_val v = {.mv_size = b.len};

	memcpy(&v.mv_data, &b.p, sizeof(v.mv_data)); /* LMDB reads only; its type lacks the const */
	return v;
}

/* With `lock` held. */
static void leave(struct kv_lmdb *m, unsigned int phase)
{
	if (--m->active[phase] == 0)
		pthread_cond_signal(&m->ended);
}

static int lmdb_read_begin(struct kv *kv, struct kv_read **ret, struct err *err)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	struct kv_read *r;
	unsigned int phase;
	int rc;

	pthread_mutex_lock(&m->lock);
	r = m->pool;
	if (r) {
		m->pool = r->next;
		m->pool_count--;
	}
	phase = m->phase;
	m->active[phase]++;
	pthread_mutex_unlock(&m->lock);
	if (r) {
		rc = mdb_txn_renew(r->txn);
	} else {
		r = calloc(1, sizeof(*r));
		rc = r ? mdb_txn_begin(m->env, NULL, MDB_RDONLY, &r->txn) : ENOMEM;
	}
	if (rc) {
		if (r && r->txn)
			mdb_txn_abort(r->txn);
		free(r);
		pthread_mutex_lock(&m->lock);
		leave(m, phase);
		pthread_mutex_unlock(&m->lock);
		return fail(m, rc, "read", err);
	}
	r->m = m;
	r->phase = phase;
	r->begin_ns = io_system()->mono_ns(NULL);
	r->next = NULL;
	pthread_mutex_lock(&m->lock);
	r->previous = m->newest;
	*(m->newest ? &m->newest->next : &m->oldest) = r;
	m->newest = r;
	pthread_mutex_unlock(&m->lock);
	*ret = r;
	return 0;
}

static void lmdb_read_end(struct kv_read *r)
{
	struct kv_lmdb *m = r->m;
	bool pooled;

	mdb_txn_reset(r->txn);
	pthread_mutex_lock(&m->lock);
	*(r->previous ? &r->previous->next : &m->oldest) = r->next;
	*(r->next ? &r->next->previous : &m->newest) = r->previous;
	leave(m, r->phase);
	pooled = m->pool_count < POOL_MAX;
	if (pooled) {
		r->next = m->pool;
		m->pool = r;
		m->pool_count++;
	}
	pthread_mutex_unlock(&m->lock);
	if (!pooled) {
		mdb_txn_abort(r->txn);
		free(r);
	}
}

static int lmdb_get(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		    struct kv_bytes *ret, struct err *err)
{
	MDB_val k = val_of(key), v;
	int rc = mdb_get(r->txn, r->m->tables[table], &k, &v);

	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return fail(r->m, rc, "get", err);
	*ret = (struct kv_bytes){v.mv_data, v.mv_size};
	return 1;
}

static int lmdb_next(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		     struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err)
{
	MDB_val k = val_of(after), v;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(r->txn, r->m->tables[table], &cursor);

	if (rc)
		return fail(r->m, rc, "cursor", err);
	rc = mdb_cursor_get(cursor, &k, &v, after.len ? MDB_SET_RANGE : MDB_FIRST);
	if (!rc && after.len && k.mv_size == after.len && !memcmp(k.mv_data, after.p, after.len))
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc)
		return fail(r->m, rc, "next", err);
	*ret_key = (struct kv_bytes){k.mv_data, k.mv_size};
	*ret = (struct kv_bytes){v.mv_data, v.mv_size};
	/* Whoever goes on behind it would never come to an end. */
	if (after.len && store_key_compare(*ret_key, after) <= 0)
		return err_set(err, ERR_DATA, "%s: damaged: keys do not rise; %s", r->m->path,
			       STORE_DAMAGED_ADVICE);
	return 1;
}

static int lmdb_layout(struct kv_read *r, struct kv_layout *ret, struct err *err)
{
	int rc = store_lmdb_layout(r->m->env, r->txn, r->m->max_bytes, ret);

	return rc ? fail(r->m, rc, "layout", err) : 0;
}

static uint64_t end_of_last_page(struct kv_lmdb *m)
{
	MDB_envinfo info;
	MDB_stat st;

	mdb_env_info(m->env, &info);
	mdb_env_stat(m->env, &st);
	return ((uint64_t)info.me_last_pgno + 1) * st.ms_psize;
}

/*
 * LMDB may leave out the last pages of the file when a transaction freed them again. Making the
 * file as long as its last page says lets a truncated one be recognised at open.
 */
static int keep_length(struct kv_lmdb *m)
{
	uint64_t end = end_of_last_page(m);
	struct stat st;

	if (fstat(m->fd, &st))
		return errno;
	return (uint64_t)st.st_size < end && ftruncate(m->fd, (off_t)end) ? errno : 0;
}

static int lmdb_commit(struct kv *kv, const struct kv_write *writes, size_t count, struct err *err)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	MDB_txn *txn;
	int rc = mdb_txn_begin(m->env, NULL, 0, &txn);

	if (rc)
		return fail(m, rc, "write", err);
	for (size_t i = 0; i < count && !rc; i++) {
		MDB_dbi dbi = m->tables[writes[i].table];
		MDB_val k = val_of(writes[i].key), v = val_of(writes[i].value);

		if (writes[i].value.p) {
			rc = mdb_put(txn, dbi, &k, &v, 0);
		} else {
			rc = mdb_del(txn, dbi, &k, NULL);
			if (rc == MDB_NOTFOUND)
				rc = 0;
		}
	}
	if (rc) {
		mdb_txn_abort(txn);
		return fail(m, rc, "write", err);
	}
	rc = mdb_txn_commit(txn);
	if (!rc)
		rc = keep_length(m);
	return rc ? fail(m, rc, "commit", err) : 0;
}

/* With `lock` held: whether all snapshots of the phase have ended in time. */
static bool wait_phase(struct kv_lmdb *m, unsigned int phase, const struct timespec *until)
{
	int rc = 0;

	while (m->active[phase] && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&m->ended, &m->lock, until);
	return m->active[phase] == 0;
}

static bool lmdb_settle(struct kv *kv, unsigned int timeout_ms)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	const struct timespec until = timed_wait_until(timeout_ms);
	bool settled;

	pthread_mutex_lock(&m->lock);
	/* First those of the phase before, then, in a new phase, those of the last one. */
	settled = wait_phase(m, !m->phase, &until);
	if (settled) {
		m->phase = !m->phase;
		settled = wait_phase(m, !m->phase, &until);
	}
	pthread_mutex_unlock(&m->lock);
	return settled;
}

static bool lmdb_has_room(struct kv *kv, uint64_t bytes)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	struct statvfs vfs;
	struct stat st;
	uint64_t growth;

	if (fstat(m->fd, &st) || fstatvfs(m->fd, &vfs))
		return true; /* the commit will tell */
	growth = m->max_bytes > (uint64_t)st.st_size ? m->max_bytes - (uint64_t)st.st_size : 0;
	growth = growth < bytes ? growth : bytes;
	return !growth || (uint64_t)vfs.f_bavail * vfs.f_frsize >= growth + m->disk_floor;
}

struct readers {
	uint64_t oldest, foreign_count;
};

/* A line of mdb_reader_list(): process, thread, and the commit that it sees, or "-". */
static int take_reader(const char *line, void *arg)
{
	struct readers *r = arg;
	uint64_t seen;
	const char *last = strrchr(line, ' ');
	char *end;

	if (!last)
		return 0;
	seen = strtoull(last + 1, &end, 10);
	if (end == last + 1 || *end != '\n')
		return 0;
	if (seen < r->oldest)
		r->oldest = seen;
	r->foreign_count += strtol(line, NULL, 10) != (long)getpid();
	return 0;
}

static void lmdb_stat(struct kv *kv, struct kv_stat *ret)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	uint64_t now = io_system()->mono_ns(NULL);
	struct readers readers = {.oldest = UINT64_MAX};
	MDB_envinfo info;
	struct stat st;

	mdb_env_info(m->env, &info);
	mdb_reader_list(m->env, take_reader, &readers);
	ret->foreign_count = readers.foreign_count;
	ret->failed = atomic_load(&m->failed);
	ret->oldest_commits =
		readers.oldest < info.me_last_txnid ? info.me_last_txnid - readers.oldest : 0;
	ret->file_bytes = fstat(m->fd, &st) ? 0 : (uint64_t)st.st_size;
	pthread_mutex_lock(&m->lock);
	ret->oldest_ns = m->oldest && now > m->oldest->begin_ns ? now - m->oldest->begin_ns : 0;
	pthread_mutex_unlock(&m->lock);
}

static int lmdb_copy(struct kv *kv, int fd, struct err *err)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	int rc = mdb_env_copyfd2(m->env, fd, MDB_CP_COMPACT);

	if (!rc && fsync(fd))
		rc = errno;
	return rc ? fail(m, rc, "copy", err) : 0;
}

static bool lmdb_maintain(struct kv *kv)
{
	int dead = 0;

	return !mdb_reader_check(((struct kv_lmdb *)kv)->env, &dead) && dead > 0;
}

static void lmdb_close(struct kv *kv)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;

	while (m->pool) {
		struct kv_read *r = m->pool;

		m->pool = r->next;
		mdb_txn_abort(r->txn);
		free(r);
	}
	if (m->env)
		mdb_env_close(m->env);
	pthread_cond_destroy(&m->ended);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* LMDB opens a truncated file without a word and dies by SIGBUS when it reads it. */
static int check_length(struct kv_lmdb *m, struct err *err)
{
	uint64_t end = end_of_last_page(m);
	struct stat st;

	if (fstat(m->fd, &st))
		return err_sys(err, errno, "%s", m->path);
	if ((uint64_t)st.st_size < end)
		return err_set(err, ERR_DATA,
			       "%s: truncated: %llu bytes, %llu expected; restore it or remove it "
			       "and upload again",
			       m->path, (unsigned long long)st.st_size, (unsigned long long)end);
	return 0;
}

static int open_tables(struct kv_lmdb *m, struct err *err)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(m->env, NULL, m->read_only ? MDB_RDONLY : 0, &txn);

	if (rc)
		return fail(m, rc, "open", err);
	for (size_t i = 0; i < KV_TABLE_COUNT && !rc; i++)
		rc = mdb_dbi_open(txn, store_table_names[i], m->read_only ? 0 : MDB_CREATE,
				  &m->tables[i]);
	if (rc) {
		mdb_txn_abort(txn);
		return fail(m, rc, "open", err);
	}
	rc = mdb_txn_commit(txn);
	if (!rc && !m->read_only)
		rc = keep_length(m);
	return rc ? fail(m, rc, "open", err) : 0;
}

static int open_env(struct kv_lmdb *m, uint64_t max_bytes, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	int rc;

	/*
	 * Who only reads takes the size that the file says: the service may let it grow meanwhile.
	 * A file above its budget may be full, and taking tables away writes pages, too.
	 */
	if (!m->read_only && !stat(m->path, &st) && (uint64_t)st.st_size > max_bytes)
		max_bytes = (uint64_t)st.st_size + PURGE_PAGES * page;
	max_bytes = (max_bytes + page - 1) / page * page;
	m->max_bytes = max_bytes;
	rc = mdb_env_create(&m->env);
	if (!rc && !m->read_only)
		rc = mdb_env_set_mapsize(m->env, max_bytes);
	if (!rc)
		rc = mdb_env_set_maxdbs(m->env, KV_TABLE_COUNT);
	if (!rc)
		rc = mdb_env_set_maxreaders(m->env, READERS_MAX);
	if (!rc)
		rc = mdb_env_open(m->env, m->path,
				  MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD |
					  (m->read_only ? MDB_RDONLY : 0),
				  0600);
	if (!rc)
		rc = mdb_env_get_fd(m->env, &m->fd);
	if (rc)
		return fail(m, rc, "open", err);
	return check_length(m, err);
}

int store_kv_open_lmdb(struct kv **ret, const char *dir, uint64_t max_bytes, uint64_t disk_floor,
		       struct err *err)
{
	static const struct kv_ops ops = {
		.read_begin = lmdb_read_begin,
		.read_end = lmdb_read_end,
		.get = lmdb_get,
		.next = lmdb_next,
		.commit = lmdb_commit,
		.layout = lmdb_layout,
		.settle = lmdb_settle,
		.has_room = lmdb_has_room,
		.stat = lmdb_stat,
		.copy = lmdb_copy,
		.maintain = lmdb_maintain,
		.close = lmdb_close,
	};
	struct kv_lmdb *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return err_set(err, ERR_MEMORY, "out of memory");
	m->kv.ops = &ops;
	m->disk_floor = disk_floor;
	m->read_only = max_bytes == 0;
	pthread_mutex_init(&m->lock, NULL);
	timed_wait_init(&m->ended);
	if (snprintf(m->path, sizeof(m->path), "%s/store.mdb", dir) >= (int)sizeof(m->path))
		rc = err_set(err, ERR_USAGE, "data directory: name too long");
	else if (m->read_only && access(m->path, F_OK))
		rc = err_sys(err, errno, "%s", m->path);
	else /* LMDB makes it, also when it only reads */
		rc = data_dir_own_file(dir, "store.mdb-lock", err);
	if (!rc)
		rc = open_env(m, max_bytes, err);
	if (!rc) {
		if (!m->read_only)
			lmdb_maintain(&m->kv);
		rc = open_tables(m, err);
	}
	if (rc) {
		lmdb_close(&m->kv);
		return rc;
	}
	*ret = &m->kv;
	return 0;
}
