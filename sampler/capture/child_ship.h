/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CHILD_SHIP_H
#define RAWSTACK_CHILD_SHIP_H
/*
 * Runs the shipper as a child without capabilities. rawstack-ship is a program of its own, because
 * it links gRPC and talks to the network, and the capturer does neither. When it ends it is started
 * again after a pause, which grows each time.
 */
#include <sys/types.h>

#include "err.h"
#include "limits.h"

struct child_ship {
	char program[LIMIT_PATH_LEN];
	const char *spool, *server, *out; /* borrowed */
	const char *const *args;          /* further arguments, NULL at the end; borrowed */
	int spool_fd, out_fd;             /* descriptors of `spool` and `out` for the child */
	pid_t pid;                        /* 0: not running */
	uint64_t start_ns, next_ns;       /* when it was started; when to start it again */
	uint64_t pause_ns;
	bool failed_told; /* it has been reported that the child cannot be started */
};

/* The shipper's name for libexec_find(). */
#define CHILD_SHIP_PROGRAM "rawstack-ship"

/* Finds the program and opens both directories, which the child may lack the right to open. Call it
 * before this process gives up its capabilities. Returns 0 or an error; err must not be NULL. */
int child_ship_init(struct child_ship *c, const char *spool, const char *server, const char *out,
		    const char *const *args, struct err *err);
void child_ship_done(struct child_ship *c); /* call child_ship_finish() before */

/* Starts the child, or starts it again if it ended and its pause is over. It never waits; call it
 * once in each round. Returns 1 if the child has just ended, with *ret_status as of waitpid(2), or
 * negative if it cannot be started, once for each series of failures, or else 0. */
int child_ship_poll(struct child_ship *c, uint64_t now_ns, int *ret_status, struct err *err);

/* Asks the child to ship what is in the spool and to end, and starts it for that if it is not
 * running. Kills it after timeout_ns. Returns 0 if it ended by itself with status 0, else an error;
 * err must not be NULL. */
int child_ship_finish(struct child_ship *c, uint64_t timeout_ns, struct err *err);

#endif
