/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of LMDB, which belong to requests and not to threads (NOTLS). A snapshot that has ended
 * is kept, with its reader slot, for a later one. store_lmdb_settle() waits until the snapshots of
 * a moment have ended, because the pages that they see cannot be used again before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io.h"
#include "store_fault.h"
#include "store_lmdb_priv.h"
#include "store_pages.h"
#include "timed_wait.h"

enum {
	POOL_MAX = 64
};

/* The caller holds `lock`. */
static void leave_phase(struct kv_lmdb *m, unsigned int phase)
{
	if (--m->active[phase] == 0)
		pthread_cond_signal(&m->ended);
}

int store_lmdb_read_begin(struct kv *kv, struct kv_read **ret, struct err *err)
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
		leave_phase(m, phase);
		pthread_mutex_unlock(&m->lock);
		return store_lmdb_fail(m, rc, "read", err);
	}
	r->m = m;
	r->phase = phase;
	r->begin_ns = io_mono_ns();
	r->next = NULL;
	pthread_mutex_lock(&m->lock);
	r->previous = m->newest;
	*(m->newest ? &m->newest->next : &m->oldest) = r;
	m->newest = r;
	pthread_mutex_unlock(&m->lock);
	*ret = r;
	return 0;
}

void store_lmdb_read_end(struct kv_read *r)
{
	struct kv_lmdb *m = r->m;
	bool pooled;

	while (r->spent_count)
		mdb_txn_abort(r->spent[--r->spent_count]);
	mdb_txn_reset(r->txn);
	pthread_mutex_lock(&m->lock);
	*(r->previous ? &r->previous->next : &m->oldest) = r->next;
	*(r->next ? &r->next->previous : &m->newest) = r->previous;
	leave_phase(m, r->phase);
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

/* Returns whether a value lies in the map, because a damaged node may give any length. */
static bool is_in_map(const struct kv_lmdb *m, const MDB_val *v)
{
	uintptr_t at = (uintptr_t)v->mv_data - (uintptr_t)m->map;

	return at <= m->map_len && v->mv_size <= m->map_len - at;
}

/*
 * LMDB does nothing more in a transaction that has met a damaged page, although other pages may be
 * sound. What the transaction gave out is borrowed until its end. So it stays, and a new one serves
 * the rest, which may see a newer commit.
 */
static int fail_read(struct kv_read *r, int rc, const char *what, struct err *err)
{
	MDB_txn *next;

	if ((rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND) &&
	    r->spent_count < ARRAY_LEN(r->spent) &&
	    !mdb_txn_begin(r->m->env, NULL, MDB_RDONLY, &next)) {
		r->spent[r->spent_count++] = r->txn;
		r->txn = next;
	}
	return store_lmdb_fail(r->m, rc, what, err);
}

static bool is_store_key(const MDB_val *k)
{
	return k->mv_size >= 1 && k->mv_size <= KV_KEY_MAX;
}

/* Returns 0, or MDB_CORRUPTED if the table has no root: all tables are made with the store, so an
 * empty one has a root, too. */
static int check_root(struct kv_read *r, enum kv_table table)
{
	const char *name = store_table_names[table];
	MDB_val k = store_lmdb_val((struct kv_bytes){name, strlen(name)}), v;
	int rc = mdb_get(r->txn, r->m->roots, &k, &v);

	return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

/* Whether `k` is a key of the store that sorts before `key` (side -1) or after it (side 1). */
static bool is_beside(const struct kv_lmdb *m, const MDB_val *k, struct kv_bytes key, int side)
{
	return is_in_map(m, k) && is_store_key(k) &&
	       side * store_key_compare((struct kv_bytes){k->mv_data, k->mv_size}, key) > 0;
}

static int check_neighbours(struct kv_read *r, MDB_cursor *cursor, struct kv_bytes key)
{
	MDB_val k = store_lmdb_val(key), v;
	int rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	bool is_last = rc == MDB_NOTFOUND;

	if (rc && !is_last)
		return rc;
	if (!is_last && !is_beside(r->m, &k, key, 1))
		return MDB_CORRUPTED;
	TRY(mdb_cursor_get(cursor, &k, &v, is_last ? MDB_LAST : MDB_PREV));
	return is_beside(r->m, &k, key, -1) ? 0 : MDB_CORRUPTED;
}

/*
 * Returns 0 if the place of an absent key is between a lower and a higher one, else MDB_CORRUPTED.
 * A damaged page misleads the search, which takes a node without bytes for a lower key and so ends
 * beside the key's place.
 */
static int check_absence(struct kv_read *r, enum kv_table table, struct kv_bytes key)
{
	MDB_cursor *cursor;
	int rc;

	TRY(mdb_cursor_open(r->txn, r->m->tables[table], &cursor));
	rc = check_neighbours(r, cursor, key);
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? check_root(r, table) : rc;
}

int store_lmdb_get(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		   struct kv_bytes *ret, struct err *err)
{
	STORE_FAULT_INSIDE(r->m->path);
	MDB_val k = store_lmdb_val(key), v;
	int rc = mdb_get(r->txn, r->m->tables[table], &k, &v);

	if (rc == MDB_NOTFOUND) {
		rc = check_absence(r, table, key);
		return rc ? fail_read(r, rc, "get", err) : 0;
	}
	if (!rc && !is_in_map(r->m, &v))
		rc = MDB_CORRUPTED;
	if (rc)
		return fail_read(r, rc, "get", err);
	*ret = (struct kv_bytes){v.mv_data, v.mv_size};
	return 1;
}

int store_lmdb_next(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		    struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err)
{
	STORE_FAULT_INSIDE(r->m->path);
	MDB_val k = store_lmdb_val(after), v;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(r->txn, r->m->tables[table], &cursor);

	if (rc)
		return fail_read(r, rc, "cursor", err);
	rc = mdb_cursor_get(cursor, &k, &v, after.len ? MDB_SET_RANGE : MDB_FIRST);
	if (!rc && after.len && k.mv_size == after.len && !memcmp(k.mv_data, after.p, after.len))
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND) {
		rc = check_root(r, table);
		return rc ? fail_read(r, rc, "next", err) : 0;
	}
	if (!rc && !(is_in_map(r->m, &k) && is_in_map(r->m, &v)))
		rc = MDB_CORRUPTED;
	if (rc)
		return fail_read(r, rc, "next", err);
	*ret_key = (struct kv_bytes){k.mv_data, k.mv_size};
	*ret = (struct kv_bytes){v.mv_data, v.mv_size};
	/* A walk that goes on after such a key would never end; after a key of no bytes it would
	 * begin again at the first. */
	if (!k.mv_size || (after.len && store_key_compare(*ret_key, after) <= 0)) {
		atomic_store(&r->m->kv.damaged, true);
		return err_set(err, ERR_DATA, "%s: damaged: keys do not rise; %s", r->m->path,
			       STORE_DAMAGED_ADVICE);
	}
	return 1;
}

/* Waits until all snapshots of the phase have ended. Returns false on timeout. The caller holds
 * `lock`. */
static bool wait_phase(struct kv_lmdb *m, unsigned int phase, const struct timespec *until)
{
	int rc = 0;

	while (m->active[phase] && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&m->ended, &m->lock, until);
	return m->active[phase] == 0;
}

bool store_lmdb_settle(struct kv *kv, unsigned int timeout_ms)
{
	struct kv_lmdb *m = (struct kv_lmdb *)kv;
	const struct timespec until = timed_wait_until(timeout_ms);
	bool settled;

	pthread_mutex_lock(&m->lock);
	/* Waits for the snapshots of the phase before, then begins a new phase and waits for those
	 * of the last one. */
	settled = wait_phase(m, !m->phase, &until);
	if (settled) {
		m->phase = !m->phase;
		settled = wait_phase(m, !m->phase, &until);
	}
	pthread_mutex_unlock(&m->lock);
	return settled;
}

void store_lmdb_read_drop(struct kv_lmdb *m)
{
	while (m->pool) {
		struct kv_read *r = m->pool;

		m->pool = r->next;
		mdb_txn_abort(r->txn);
		free(r);
	}
}
