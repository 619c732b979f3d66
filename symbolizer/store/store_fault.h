/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_FAULT_H
#define RAWSTACK_STORE_FAULT_H
/*
 * Prints one line before a fault in the store ends the program. A store is checked before it is
 * opened (store_check.h), but LMDB also believes what it reads afterwards. A page that goes bad
 * later ends the process by SIGSEGV or an assertion; a file that somebody truncates ends it by
 * SIGBUS, because the file is mapped. The line on stderr names the file and what to do. Then the
 * signal goes to the handler that was there before, or ends the process.
 */
#include "base.h"

/* Installs the handlers; call it once, before there are threads. The line begins with the program's
 * name, which is borrowed for ever. A program that does not call it prints nothing. */
void store_fault_install(const char *name);

/* Registers the map of a store until store_fault_remove(). Maps beyond STORE_FAULT_MAPS are not
 * registered, and faults in them are not reported. */
enum {
	STORE_FAULT_MAPS = 4
};
void store_fault_add(const void *map, size_t len, const char *path);
void store_fault_remove(const void *map);

/* The path of the file while this thread is inside LMDB, or NULL. A damaged page may send LMDB to
 * any address, not only into the map. */
extern _Thread_local const char *store_fault_inside;

static inline void store_fault_leave(const char **path _unused_)
{
	store_fault_inside = NULL;
}

/* Marks the rest of the block as inside LMDB. path is borrowed until the block ends. */
#define STORE_FAULT_INSIDE(path)                                                                  \
	_cleanup_(store_fault_leave) const char *store_fault_path _unused_ = store_fault_inside = \
		(path)

/* Reports a failed assertion of LMDB, which calls abort() next. */
void store_fault_assertion(const char *path, const char *what);

#endif
