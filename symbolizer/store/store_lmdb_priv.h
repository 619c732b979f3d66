/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_LMDB_PRIV_H
#define RAWSTACK_STORE_LMDB_PRIV_H
/*
 * The engine on LMDB, as its parts share it: store_lmdb.c (open, commits, figures),
 * store_lmdb_read.c (snapshots) and store_lmdb_layout.c (which pages are free).
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
	MDB_dbi roots; /* LMDB's own table of the names and roots of tables */
	int fd;        /* LMDB's own descriptor of the file */
	char path[LIMIT_PATH_LEN];
	const uint8_t *map; /* where LMDB maps the file, as long as it is open */
	size_t map_len;
	pthread_mutex_t lock; /* guards what follows; LMDB itself keeps writers apart */
	struct kv_read *pool; /* snapshots that are reset but keep their reader slot */
	size_t pool_count;
	/* Snapshots in use, by the phase in which they began. A new phase begins only when the
	 * phase before the last is empty, so there are never more than two. */
	unsigned int phase;
	size_t active[2];
	pthread_cond_t ended;            /* signalled when the last snapshot of a phase ends */
	struct kv_read *oldest, *newest; /* list of the snapshots in use, by their begin */
	uint64_t max_bytes, disk_floor;
	bool read_only;
	atomic_bool failed;
};

enum {
	STORE_LMDB_SPENT = 32 /* transactions that one snapshot may lose to damaged pages */
};

struct kv_read {
	struct kv_read *next, *previous; /* links of the pool, or of the list of those in use */
	uint64_t begin_ns;
	struct kv_lmdb *m;
	MDB_txn *txn;
	/* Earlier transactions of this snapshot. Each met a damaged page, after which LMDB does
	 * nothing more in it, but what it gave out is still borrowed. */
	MDB_txn *spent[STORE_LMDB_SPENT];
	size_t spent_count;
	unsigned int phase;
};

/* Translates an error of LMDB. */
int store_lmdb_fail(struct kv_lmdb *m, int rc, const char *what, struct err *err);

static inline MDB_val store_lmdb_val(struct kv_bytes b)
{
	MDB_val v = {.mv_size = b.len};

	memcpy(&v.mv_data, &b.p,
	       sizeof(v.mv_data)); /* LMDB only reads it, but its type lacks the const */
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

/* Frees the pool. All snapshots have ended. */
void store_lmdb_read_drop(struct kv_lmdb *m);

#endif
