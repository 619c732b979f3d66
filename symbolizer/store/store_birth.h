/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_BIRTH_H
#define RAWSTACK_STORE_BIRTH_H
/*
 * Tells a store.mdb that is just being made from one that somebody emptied. LMDB makes the file and
 * writes to it afterwards, so that a process that is killed between the two leaves a file without
 * bytes, which the next start has to go on with. The same file in a data directory that has been in
 * use is all that is left of a store, and to begin anew there would hide that.
 *
 * A mark, DIR/store.mdb-new, stands beside the file from before it is made until its first commit.
 */
#include "err.h"

/* The directory in which a salvage works until its store is whole, in the data directory that is to
 * have it. */
#define STORE_SALVAGE_NAME "store.mdb.salvage"

/* Leaves the mark, durably, where there is no store or an empty one. After store_birth_check(). */
int store_birth_begin(const char *dir, struct err *err) _must_check_;

/* The store has a commit: the mark goes, if there is one. */
void store_birth_end(const char *dir);

/* 0; ERR_DATA when a salvage into the directory did not end, or when store.mdb is empty and there
 * was a store in it: no mark is there, but what the service makes only beside a store that it has
 * opened. */
int store_birth_check(const char *dir, struct err *err) _must_check_;

#endif
