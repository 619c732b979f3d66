/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_SPAWN_H
#define RAWSTACK_WORKER_SPAWN_H
/* Starts a table worker or verifier with the given descriptors and no others. table_build.c writes
 * its request and waits for its end. */
#include <sys/types.h>

#include "base.h"
#include "err.h"
#include "worker_protocol.h"

/* Descriptors for the worker, by the number that each will have there, or -1. They are copies with
 * numbers from WORKER_FD_COUNT on, so that assigning one of the worker's numbers overwrites none of
 * them. */
struct worker_files {
	int fds[WORKER_FD_COUNT];
};

void worker_files_init(struct worker_files *p);
void worker_files_done(struct worker_files *p);

/* Adds a copy of fd, which stays the caller's. Returns errors as err_sys(). */
int worker_files_pass(struct worker_files *p, int number, int fd, struct err *err) _must_check_;

/* Does the same with a read-only copy, because through a writable descriptor the worker could alter
 * a file that others read later. */
int worker_files_pass_read_only(struct worker_files *p, int number, int fd,
				struct err *err) _must_check_;

/*
 * Starts the program at `path`, as `name`, with an empty environment, no blocked or caught signals,
 * and only these descriptors: /dev/null as the first three, and the given ones. Returns an error
 * number as posix_spawn() does.
 */
int worker_spawn(const char *path, const char *name, const struct worker_files *p,
		 pid_t *ret_pid) _must_check_;

#endif
