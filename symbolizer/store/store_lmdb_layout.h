/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_LMDB_LAYOUT_H
#define RAWSTACK_STORE_LMDB_LAYOUT_H
/* Tells where the file is mapped, and which of its pages are free in a snapshot, internal to the
 * engine. */
#include "store_kv.h"

struct MDB_env;
struct MDB_txn;

/* Returns 0, or an error of LMDB, after which there is nothing to free. txn is read-only. */
int store_lmdb_layout(struct MDB_env *env, struct MDB_txn *txn, uint64_t max_bytes,
		      struct kv_layout *ret);

/* Finds where the file is mapped, in a store that has a table and so a page to look at. Returns 0,
 * or an error of LMDB. */
int store_lmdb_map(struct MDB_env *env, struct MDB_txn *txn, const uint8_t **ret);

#endif
