/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TARGETS_H
#define RAWSTACK_TARGETS_H
/*
 * Which processes are meant, as far as the kernel does not tell them apart: by name of the thread
 * and by program, as extended regular expressions (regex(7)) that match anywhere. Also who a
 * process's descendants are. One thread.
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

/* Whether both expressions match; what is NULL matches no expression. */
bool targets_match(const struct targets *t, const char *comm, const char *exe);

/* Adds the processes that these and their children have started, as /proc tells now, and returns
 * how many there are then; at most max. */
size_t targets_add_children(uint32_t *pids, size_t count, size_t max);

#endif
