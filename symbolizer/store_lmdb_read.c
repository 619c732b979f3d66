/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of LMDB: a request's, not a thread's (NOTLS). Those that ended are kept with their
 * reader slot for the next ones; whoever needs the pages that they saw waits until all have ended
 * that there were.
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

/* With `lock` held. */
static void leave(struct kv_lmdb *m, unsigned int phase)
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
		leave(m, phase);
		pthread_mutex_unlock(&m->lock);
		return store_lmdb_fail(m, rc, "read", err);
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

void store_lmdb_read_end(struct kv_read *r)
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

/* A damaged node may say any length, and whoever reads it all would leave the map. */
static bool is_in_map(const struct kv_lmdb *m, const MDB_val *v)
{
	uintptr_t at = (uintptr_t)v->mv_data - (uintptr_t)m->map;

	return at <= m->map_len && v->mv_size <= m->map_len - at;
}

int store_lmdb_get(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		   struct kv_bytes *ret, struct err *err)
{
	STORE_FAULT_INSIDE(r->m->path);
	MDB_val k = store_lmdb_val(key), v;
	int rc = mdb_get(r->txn, r->m->tables[table], &k, &v);

	if (rc == MDB_NOTFOUND)
		return 0;
	if (!rc && !is_in_map(r->m, &v))
		rc = MDB_CORRUPTED;
	if (rc)
		return store_lmdb_fail(r->m, rc, "get", err);
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
		return store_lmdb_fail(r->m, rc, "cursor", err);
	rc = mdb_cursor_get(cursor, &k, &v, after.len ? MDB_SET_RANGE : MDB_FIRST);
	if (!rc && after.len && k.mv_size == after.len && !memcmp(k.mv_data, after.p, after.len))
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (!rc && !(is_in_map(r->m, &k) && is_in_map(r->m, &v)))
		rc = MDB_CORRUPTED;
	if (rc)
		return store_lmdb_fail(r->m, rc, "next", err);
	*ret_key = (struct kv_bytes){k.mv_data, k.mv_size};
	*ret = (struct kv_bytes){v.mv_data, v.mv_size};
	/* Whoever goes on behind it would never come to an end; behind no bytes lies the first. */
	if (!k.mv_size || (after.len && store_key_compare(*ret_key, after) <= 0)) {
		atomic_store(&r->m->damaged, true);
		return err_set(err, ERR_DATA, "%s: damaged: keys do not rise; %s", r->m->path,
			       STORE_DAMAGED_ADVICE);
	}
	return 1;
}

/* With `lock` held: whether all snapshots of the phase have ended in time. */
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
	/* First those of the phase before, then, in a new phase, those of the last one. */
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
