/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TARGETS_H
#define RAWSTACK_TARGETS_H
/*
 * Selects processes where the kernel does not: by name of the thread and by program, as extended
 * regular expressions (regex(7)) that match anywhere. Also finds the descendants of a process.
 * One thread.
 */
#include <regex.h>

#include "err.h"

struct targets {
	bool has_comm, has_exe;
	regex_t comm, exe;
};

/* NULL: any. */
int targets_init(struct targets *t, const char *comm, const char *exe, struct err *err);
void targets_done(struct targets *t);

/* Whether both expressions match; a name that is NULL matches none. */
bool targets_match(const struct targets *t, const char *comm, const char *exe);

/* Adds the descendants of these processes, as /proc shows them now, and returns how many there are
 * then; at most max. */
size_t targets_add_children(uint32_t *pids, size_t count, size_t max);

#endif
