/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_LMDB_LAYOUT_H
#define RAWSTACK_STORE_LMDB_LAYOUT_H
/* Where the file is mapped, and which pages of it are free in a snapshot. The engine's own. */
#include "store_kv.h"

struct MDB_env;
struct MDB_txn;

/* Returns 0, or what LMDB says; then nothing is to be freed. txn is one that only reads. */
int store_lmdb_layout(struct MDB_env *env, struct MDB_txn *txn, uint64_t max_bytes,
		      struct kv_layout *ret);

/* Where the file is mapped. The store has a table, so that there is a page to look at. */
int store_lmdb_map(struct MDB_env *env, struct MDB_txn *txn, const uint8_t **ret);

#endif
