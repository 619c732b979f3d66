/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_CLASS_H
#define RAWSTACK_WORKER_CLASS_H
/*
 * The priority of a table worker (sched(7), ioprio_set(2)). A worker of a service begins at idle
 * priority: it runs only when nothing else does. On a machine that is always busy it would never
 * finish, so the process that waits for it raises it when it got too little CPU time. This is best
 * effort: if the kernel or a container does not allow it, other work only gets slower.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "limits.h"

/* A worker at idle priority that had less than this part of a processor (one tenth) during
 * LIMIT_WORKER_STARVED_MS continues at nice 10, so that a build on a busy host does not wait until
 * the night. */
#define LIMIT_WORKER_STARVED_SHARE LIMIT(10)

enum worker_class {
	WORKER_CLASS_NORMAL = 0, /* the priority of the parent */
	WORKER_CLASS_BATCH = 1,  /* nice 10, SCHED_BATCH, last of the disks' best effort: a tenth of
				  * what others have, and anyone who wakes up goes first */
	WORKER_CLASS_IDLE = 2,   /* SCHED_IDLE, idle class of the disks; nice 10 for later */
};

/*
 * Where a worker in the background begins: WORKER_CLASS_IDLE, but WORKER_CLASS_BATCH where it could
 * not be raised from there, which takes RLIMIT_NICE of 10 at least (LimitNICE=10 of systemd), or
 * CAP_SYS_NICE. Found out once for the process. Any thread.
 */
enum worker_class worker_class_background(void);

/* Sets the class of the calling process, which must have one thread. */
void worker_class_take(enum worker_class c);

/* The state of watching a worker. */
struct worker_watch {
	pid_t pid;
	enum worker_class class;
	uint64_t starved_ns;       /* length of an interval */
	uint64_t since_ns, cpu_ns; /* where the present interval began */
};

/* now_ns: monotonic. */
void worker_watch_begin(struct worker_watch *w, pid_t pid, enum worker_class c, uint64_t starved_ms,
			uint64_t now_ns);

/*
 * To be called from time to time while the worker has not been reaped. When an interval is over in
 * which the worker had less than 1/LIMIT_WORKER_STARVED_SHARE of a processor, it goes from
 * WORKER_CLASS_IDLE to WORKER_CLASS_BATCH, once and for all. Returns the milliseconds after which
 * it wants to be called again, or INT32_MAX: never.
 */
int worker_watch_look(struct worker_watch *w, uint64_t now_ns);

#endif
