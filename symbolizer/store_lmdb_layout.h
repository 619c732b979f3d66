/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_LMDB_LAYOUT_H
#define RAWSTACK_STORE_LMDB_LAYOUT_H
/* Which pages of LMDB's file are free in a snapshot. Internal to the engine. */
#include "store_kv.h"

struct MDB_env;
struct MDB_txn;

/* 0, or what LMDB says; then nothing is to be freed. txn is one that only reads. */
int store_lmdb_layout(struct MDB_env *env, struct MDB_txn *txn, uint64_t max_bytes,
		      struct kv_layout *ret);

#endif
