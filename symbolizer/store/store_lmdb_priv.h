/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_LMDB_PRIV_H
#define RAWSTACK_STORE_LMDB_PRIV_H
/*
 * What the parts of the engine on LMDB share: store_lmdb.c (open, commits, figures) and
 * store_lmdb_read.c (snapshots).
 */
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "limits.h"
#include "store_kv.h"

enum {
	STORE_LMDB_READERS = 1024
};

struct kv_lmdb {
	struct kv kv;
	MDB_env *env;
	MDB_dbi tables[KV_TABLE_COUNT];
	MDB_dbi roots; /* where LMDB keeps their names and roots */
	int fd;        /* LMDB's own descriptor of the file */
	char path[LIMIT_PATH_LEN];
	const uint8_t *map; /* where LMDB has the file, for all its time */
	size_t map_len;
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

enum {
	STORE_LMDB_SPENT = 32 /* transactions of one snapshot that met damaged pages */
};

struct kv_read {
	struct kv_read *next, *previous; /* of the pool, or of those in use */
	uint64_t begin_ns;
	struct kv_lmdb *m;
	MDB_txn *txn;
	/* Those before it, in which LMDB does nothing more; what they gave out is still borrowed.
	 */
	MDB_txn *spent[STORE_LMDB_SPENT];
	size_t spent_count;
	unsigned int phase;
};

/* An error of LMDB's as one of ours. */
int store_lmdb_fail(struct kv_lmdb *m, int rc, const char *what, struct err *err);

static inline MDB_val store_lmdb_val(struct kv_bytes b)
{
	MDB_val v = {.mv_size = b.len};

	memcpy(&v.mv_data, &b.p, sizeof(v.mv_data)); /* LMDB reads only; its type lacks the const */
	return v;
}

/* --- snapshots: of struct kv_ops ------------------------------------------------------------- */

int store_lmdb_read_begin(struct kv *kv, struct kv_read **ret, struct err *err);
void store_lmdb_read_end(struct kv_read *r);
int store_lmdb_get(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		   struct kv_bytes *ret, struct err *err);
int store_lmdb_next(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		    struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err);
bool store_lmdb_settle(struct kv *kv, unsigned int timeout_ms);

/* All have ended: those that are kept for the next ones go. */
void store_lmdb_read_drop(struct kv_lmdb *m);

#endif
