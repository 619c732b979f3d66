/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TARGETS_H
#define RAWSTACK_TARGETS_H
/*
 * Selects processes where the kernel does not: by thread name and by program, with extended regular
 * expressions (regex(7)) that match anywhere. Also finds the descendants of a process. One thread
 * uses it.
 */
#include <regex.h>

#include "err.h"

struct targets {
	bool has_comm, has_exe;
	regex_t comm, exe;
};

/* Checks an expression. Returns 0, or ERR_USAGE if it is invalid. */
int targets_check(const char *pattern, struct err *err) _must_check_;

/* Compiles the expressions; NULL matches any name. Returns 0, or ERR_USAGE for an invalid one. */
int targets_init(struct targets *t, const char *comm, const char *exe, struct err *err);
void targets_done(struct targets *t);

/* Returns whether both expressions match; a name that is NULL matches none. */
bool targets_match(const struct targets *t, const char *comm, const char *exe);

/* Adds the descendants of these processes, as /proc shows them now. Returns how many pids there are
 * then, at most max. */
size_t targets_add_children(uint32_t *pids, size_t count, size_t max);

#endif
