/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on LMDB: one file whose map size is the disk budget, so that it can never exceed it.
 * It never sets NOSYNC, nor WRITEMAP, with which a full disk would kill the process. It sets NOTLS,
 * because snapshots belong to requests and not to threads, and NORDAHEAD, because lookups touch few
 * pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "data_dir.h"
#include "io.h"
#include "limits.h"
#include "number.h"
#include "store_birth.h"
#include "store_fault.h"
#include "store_lmdb_layout.h"
#include "store_lmdb_priv.h"
#include "store_pages.h"
#include "timed_wait.h"

enum {
	PURGE_PAGES = 64, /* a few pages of each tree, and of the list of free ones */
};

int store_lmdb_fail(struct kv_lmdb *m, int rc, const char *what, struct err *err)
{
	struct statvfs st;

	/* Only the service writes, and never beyond its map, so a meta page that says otherwise is
	 * garbled. A reader beside the service may see that the map has grown. */
	if (rc == MDB_MAP_RESIZED && !m->read_only)
		rc = MDB_CORRUPTED;
	switch (rc) {
	case MDB_MAP_FULL:
		return err_set(err, ERR_LIMIT, "%s: the store is full", m->path);
	case ENOMEM:
		return err_no_memory(err);
	case EIO: /* LMDB's code for a short write */
	case ENOSPC:
		if (!fstatvfs(m->fd, &st) && st.f_bavail < 1024)
			return err_set(err, ERR_IO, "%s: the disk is full", m->path);
		return err_sys(err, rc, "%s: %s", m->path, what);
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_BAD_TXN:      /* the transaction met damage before */
	case MDB_INCOMPATIBLE: /* the root of an empty table */
	case MDB_CURSOR_FULL:  /* deeper than a sound tree */
		atomic_store(&m->kv.damaged, true);
		return err_set(err, ERR_DATA, "%s: damaged: %s: %s; " STORE_DAMAGED_ADVICE, m->path,
			       what, mdb_strerror(rc));
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
		return err_set(err, ERR_DATA, "%s: %s: %s", m->path, what, mdb_strerror(rc));
	case MDB_PANIC:
		/* No request caused this, and only opening the store anew ends it: see kv_stat. */
		atomic_store(&m->failed, true);
		return err_set(err, ERR_UNAVAILABLE, "%s: a write failed half-way", m->path);
	case MDB_READERS_FULL:
		return err_set(err, ERR_UNAVAILABLE, "%s: more than %d readers", m->path,
			       STORE_LMDB_READERS);
	default:
		if (rc > 0)
			return err_sys(err, rc, "%s: %s", m->path, what);
		return err_set(err, ERR_INTERNAL, "%s: %s: %s", m->path, what, mdb_strerror(rc));
	}
}

static int lmdb_layout(struct kv_read *r, struct kv_layout *ret, struct err *err)
{
	STORE_FAULT_INSIDE(r->m->path);
	int rc = store_lmdb_layout(r->m->env, r->txn, r->m->max_bytes, ret);

	return rc ? store_lmdb_fail(r->m, rc, "layout", err) : 0;
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
 * Extends the file to the end of its last page, which LMDB may leave out when a transaction freed
 * it again, so that check_length() can tell a truncated file. Returns 0 or errno.
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
	STORE_FAULT_INSIDE(m->path);
	MDB_txn *txn;
	int rc = mdb_txn_begin(m->env, NULL, 0, &txn);

	if (rc)
		return store_lmdb_fail(m, rc, "write", err);
	for (size_t i = 0; i < count && !rc; i++) {
		MDB_dbi dbi = m->tables[writes[i].table];
		MDB_val k = store_lmdb_val(writes[i].key), v = store_lmdb_val(writes[i].value);

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
		return store_lmdb_fail(m, rc, "write", err);
	}
	rc = mdb_txn_commit(txn);
	if (!rc)
		rc = keep_length(m);
	return rc ? store_lmdb_fail(m, rc, "commit", err) : 0;
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

/* Takes a line of mdb_reader_list(): process, thread, and the commit that is seen, or "-". */
static int take_reader(const char *line, void *arg)
{
	struct readers *r = arg;
	uint64_t seen, pid;
	const char *last = strrchr(line, ' ');

	if (!last++ || !number_take(&last, 10, &seen) || *last != '\n')
		return 0;
	if (seen < r->oldest)
		r->oldest = seen;
	line += strspn(line, " ");
	r->foreign_count += !number_take(&line, 10, &pid) || pid != (uint64_t)getpid();
	return 0;
}

/* Returns whether the file was removed or replaced, or its file system unmounted. What is written
 * then is lost when the program ends. */
static bool file_is_gone(const struct kv_lmdb *m)
{
	struct stat open, named;

	if (fstat(m->fd, &open))
		return false;
	if (stat(m->path, &named))
		return errno == ENOENT || errno == ENOTDIR;
	return open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

static void lmdb_stat(struct kv *kv, struct kv_stat *ret)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	uint64_t now = io_mono_ns();
	struct readers readers = {.oldest = UINT64_MAX};
	MDB_envinfo info;
	struct stat st;

	mdb_env_info(m->env, &info);
	mdb_reader_list(m->env, take_reader, &readers);
	ret->foreign_count = readers.foreign_count;
	ret->failed = atomic_load(&m->failed);
	ret->gone = file_is_gone(m);
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
	STORE_FAULT_INSIDE(m->path);
	int rc = mdb_env_copyfd2(m->env, fd, MDB_CP_COMPACT);

	if (!rc && fsync(fd))
		rc = errno;
	return rc ? store_lmdb_fail(m, rc, "copy", err) : 0;
}

static bool lmdb_maintain(struct kv *kv)
{
	int dead = 0;

	return !mdb_reader_check(((struct kv_lmdb *)kv)->env, &dead) && dead > 0;
}

static void lmdb_close(struct kv *kv)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;

	store_lmdb_read_drop(m);
	if (m->map)
		store_fault_remove(m->map);
	if (m->env)
		mdb_env_close(m->env);
	pthread_cond_destroy(&m->ended);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Returns ERR_DATA if the file is truncated, because LMDB opens such a file without an error and
 * dies by SIGBUS when it reads it. */
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

/* Finds where LMDB maps the file. LMDB does not tell, but whatever it gives out lies there. */
static int find_map(struct kv_lmdb *m, struct err *err)
{
	MDB_envinfo info;
	MDB_txn *txn;
	int rc = mdb_txn_begin(m->env, NULL, MDB_RDONLY, &txn);

	if (rc)
		return store_lmdb_fail(m, rc, "open", err);
	rc = store_lmdb_map(m->env, txn, &m->map);
	mdb_txn_abort(txn);
	if (rc)
		return store_lmdb_fail(m, rc, "open", err);
	mdb_env_info(m->env, &info);
	m->map_len = info.me_mapsize;
	store_fault_add(m->map, m->map_len, m->path);
	return 0;
}

static void on_assertion(MDB_env *env, const char *what)
{
	store_fault_assertion(((struct kv_lmdb *)mdb_env_get_userctx(env))->path, what);
}

/* Returns 0 or an error of LMDB. */
static int open_each_table(struct kv_lmdb *m, MDB_txn *txn)
{
	for (size_t i = 0; i < KV_TABLE_COUNT; i++)
		TRY(mdb_dbi_open(txn, store_table_names[i], m->read_only ? 0 : MDB_CREATE,
				 &m->tables[i]));
	return mdb_dbi_open(txn, NULL, 0, &m->roots);
}

static int open_tables(struct kv_lmdb *m, struct err *err)
{
	STORE_FAULT_INSIDE(m->path);
	MDB_txn *txn;
	int rc = mdb_txn_begin(m->env, NULL, m->read_only ? MDB_RDONLY : 0, &txn);

	if (rc)
		return store_lmdb_fail(m, rc, "open", err);
	rc = open_each_table(m, txn);
	if (rc) {
		mdb_txn_abort(txn);
		return store_lmdb_fail(m, rc, "open", err);
	}
	rc = mdb_txn_commit(txn);
	if (!rc && !m->read_only)
		rc = keep_length(m);
	return rc ? store_lmdb_fail(m, rc, "open", err) : find_map(m, err);
}

/* Returns 0 or an error of LMDB. */
static int make_lmdb_env(struct kv_lmdb *m)
{
	TRY(mdb_env_create(&m->env));
	if (!m->read_only)
		TRY(mdb_env_set_mapsize(m->env, m->max_bytes));
	TRY(mdb_env_set_maxdbs(m->env, KV_TABLE_COUNT));
	TRY(mdb_env_set_userctx(m->env, m));
	TRY(mdb_env_set_assert(m->env, on_assertion));
	TRY(mdb_env_set_maxreaders(m->env, STORE_LMDB_READERS));
	TRY(mdb_env_open(m->env, m->path,
			 MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD | (m->read_only ? MDB_RDONLY : 0),
			 0600));
	return mdb_env_get_fd(m->env, &m->fd);
}

static int open_lmdb_env(struct kv_lmdb *m, uint64_t max_bytes, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	int rc;

	/*
	 * A reader takes the size from the file, because the service may let the file grow
	 * meanwhile. A file above its budget may be full, and evicting tables needs pages, too.
	 */
	if (!m->read_only && !stat(m->path, &st) && (uint64_t)st.st_size > max_bytes)
		max_bytes = (uint64_t)st.st_size + PURGE_PAGES * page;
	max_bytes = (max_bytes + page - 1) / page * page;
	m->max_bytes = max_bytes;
	rc = make_lmdb_env(m);
	return rc ? store_lmdb_fail(m, rc, "open", err) : check_length(m, err);
}

static int open_lmdb_store(struct kv_lmdb *m, const char *dir, uint64_t max_bytes, struct err *err)
{
	if (snprintf(m->path, sizeof(m->path), "%s/store.mdb", dir) >= (int)sizeof(m->path))
		return err_set(err, ERR_USAGE, "data directory: name too long");
	if (m->read_only && access(m->path, F_OK))
		return err_sys(err, errno, "%s", m->path);
	TRY(data_dir_check_file(dir, "store.mdb", err));
	TRY(store_birth_check(dir, err));
	if (!m->read_only)
		TRY(store_birth_begin(dir, err));
	/* LMDB would make this file with our owner, also when it only reads. */
	TRY(data_dir_own_file(dir, "store.mdb-lock", err));
	TRY(open_lmdb_env(m, max_bytes, err));
	if (!m->read_only)
		lmdb_maintain(&m->kv);
	TRY(open_tables(m, err));
	if (!m->read_only)
		store_birth_end(dir);
	return 0;
}

int store_kv_open_lmdb(struct kv **ret, const char *dir, uint64_t max_bytes, uint64_t disk_floor,
		       struct err *err)
{
	static const struct kv_ops ops = {
		.read_begin = store_lmdb_read_begin,
		.read_end = store_lmdb_read_end,
		.get = store_lmdb_get,
		.next = store_lmdb_next,
		.commit = lmdb_commit,
		.layout = lmdb_layout,
		.settle = store_lmdb_settle,
		.has_room = lmdb_has_room,
		.stat = lmdb_stat,
		.copy = lmdb_copy,
		.maintain = lmdb_maintain,
		.close = lmdb_close,
	};
	struct kv_lmdb *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return err_no_memory(err);
	m->kv.ops = &ops;
	m->disk_floor = disk_floor;
	m->read_only = max_bytes == 0;
	pthread_mutex_init(&m->lock, NULL);
	timed_wait_init(&m->ended);
	rc = open_lmdb_store(m, dir, max_bytes, err);
	if (rc) {
		lmdb_close(&m->kv);
		return rc;
	}
	*ret = &m->kv;
	return 0;
}
