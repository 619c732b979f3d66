/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CHILD_SHIP_H
#define RAWSTACK_CHILD_SHIP_H
/*
 * The shipper as a child without capabilities: rawstack-ship, a program of its own, because it
 * links gRPC and talks to the network and the capturer does neither. Restarted with a growing pause
 * when it dies. One thread.
 */
#include <sys/types.h>

#include "err.h"
#include "limits.h"

struct child_ship {
	char program[LIMIT_PATH_LEN];
	const char *spool, *server, *out; /* borrowed */
	const char *const *args;          /* further arguments, NULL at the end; borrowed */
	int spool_fd, out_fd;             /* the same directories, opened when that was allowed */
	pid_t pid;                        /* 0: not running */
	uint64_t start_ns, next_ns;       /* when it was started; when to start it again */
	uint64_t pause_ns;
	bool failed_told; /* that it cannot be started */
};

/* For libexec_find(). */
#define CHILD_SHIP_PROGRAM "rawstack-ship"

/* While this process may still do what the child may not: both directories are opened. err must be
 * given. */
int child_ship_init(struct child_ship *c, const char *spool, const char *server, const char *out,
		    const char *const *args, struct err *err);
void child_ship_done(struct child_ship *c); /* behind child_ship_finish() */

/* Starts it, or starts it again when it ended and its pause is over. Never waits. Call once for
 * each poll. Returns 1 when it has just ended, *ret_status as by waitpid(2), each time; 0; or
 * negative when it cannot be started, once for each run of failures. */
int child_ship_poll(struct child_ship *c, uint64_t now_ns, int *ret_status, struct err *err);

/* Asks it to ship what is there and to end, starting it once more if it is not running, and waits
 * for timeout_ns at most, then kills it. 0 when it ended by itself with status 0. err must be
 * given. */
int child_ship_finish(struct child_ship *c, uint64_t timeout_ns, struct err *err);

#endif
