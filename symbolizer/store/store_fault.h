/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_FAULT_H
#define RAWSTACK_STORE_FAULT_H
/*
 * The last words of a program that dies of its store. A store is checked before it is opened
 * (store_check.h), but LMDB believes what it reads afterwards, too: a page that goes bad meanwhile
 * ends the process by SIGSEGV or an assertion, and a file that somebody truncates by SIGBUS, for
 * it is mapped. Then one line on stderr names the file and what to do, and the signal takes its
 * course: to whatever handled it before, or to the end of the process.
 */
#include "base.h"

/* Once, before there are threads. The program's name stands in front of the line; it is kept, not
 * copied. Without it nothing is said. */
void store_fault_install(const char *name);

/* A store's map, until it is removed. Of more than STORE_FAULT_MAPS at a time, the later ones are
 * not told of. */
enum {
	STORE_FAULT_MAPS = 4
};
void store_fault_add(const void *map, size_t len, const char *path);
void store_fault_remove(const void *map);

/* The file in which this thread is being led by LMDB, or NULL. What is wrong in a page may lead
 * anywhere, also out of the map. */
extern _Thread_local const char *store_fault_inside;

static inline void store_fault_leave(const char **path _unused_)
{
	store_fault_inside = NULL;
}

/* Marks the rest of the block as inside LMDB. path is borrowed. */
#define STORE_FAULT_INSIDE(path)                                                                  \
	_cleanup_(store_fault_leave) const char *store_fault_path _unused_ = store_fault_inside = \
		(path)

/* An assertion of LMDB's failed; it calls abort() next. */
void store_fault_assertion(const char *path, const char *what);

#endif
