/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_BIRTH_H
#define RAWSTACK_STORE_BIRTH_H
/*
 * Tells a new store.mdb from one that somebody emptied. LMDB makes the file first and writes to it
 * afterwards. A process that is killed in between leaves a file of zero bytes, and the next start
 * has to go on with it. But in a data directory that has been in use, the same empty file is all
 * that is left of a store, and a new store would hide the loss.
 *
 * So a mark, DIR/store.mdb-new, exists from before the file is made until its first commit.
 */
#include "err.h"

/* The directory, inside the new data directory, in which a salvage works until its store is whole.
 */
#define STORE_SALVAGE_NAME "store.mdb.salvage"

/* Makes the mark, durably, where there is no store or an empty one. Call store_birth_check()
 * before. */
int store_birth_begin(const char *dir, struct err *err) _must_check_;

/* Removes the mark, if there is one: the store has its first commit. */
void store_birth_end(const char *dir);

/* Returns 0, or ERR_DATA if a salvage into the directory did not end, or if store.mdb is empty and
 * held a store before. It did if there is no mark, but files that the service makes only beside an
 * open store. */
int store_birth_check(const char *dir, struct err *err) _must_check_;

#endif
