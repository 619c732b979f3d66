/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_SPAWN_H
#define RAWSTACK_WORKER_SPAWN_H
/* Starts a table worker or verifier with exactly the given descriptors. table_build.c makes its
 * request and handles its end. */
#include <sys/types.h>

#include "base.h"
#include "err.h"
#include "worker_protocol.h"

/* Descriptors for the worker, by the number that each will have there; -1: none. They are copies
 * above these numbers, so that none is overwritten before it is passed on. */
struct worker_files {
	int fds[WORKER_FD_COUNT];
};

void worker_files_init(struct worker_files *p);
void worker_files_done(struct worker_files *p);

/* Adds a copy of fd, which stays the caller's. Errors as err_sys(). */
int worker_files_pass(struct worker_files *p, int number, int fd, struct err *err) _must_check_;

/* Does the same with a read-only copy: through a writable descriptor the worker could alter a file
 * that others read later. */
int worker_files_pass_read_only(struct worker_files *p, int number, int fd,
				struct err *err) _must_check_;

/*
 * Starts the program at `path`, as `name`, with an empty environment, no blocked or caught signal,
 * /dev/null as the first three descriptors, the given ones, and no other. Returns an error number
 * as posix_spawn() does.
 */
int worker_spawn(const char *path, const char *name, const struct worker_files *p,
		 pid_t *ret_pid) _must_check_;

#endif
