/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_CLASS_H
#define RAWSTACK_WORKER_CLASS_H
/*
 * Sets the priority of a table worker (sched(7), ioprio_set(2)). The worker of a service starts at
 * idle priority and runs only while no other process wants the CPU. On a machine that is always
 * busy it would never finish, so the process that waits for it raises its priority if it gets too
 * little CPU time. If the kernel or a container does not allow this, other programs only run
 * slower.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "limits.h"

/* A worker at idle priority is raised to nice 10 if it had less than 1/LIMIT_WORKER_STARVED_SHARE
 * of a processor during LIMIT_WORKER_STARVED_MS, so that a build on a busy host does not wait for
 * hours.
 */
#define LIMIT_WORKER_STARVED_SHARE LIMIT(10)

enum worker_class {
	WORKER_CLASS_NORMAL = 0, /* the priority of the parent */
	WORKER_CLASS_BATCH = 1,  /* nice 10, SCHED_BATCH, lowest best-effort I/O priority: a tenth
				  * of the CPU time of others, and its wake-ups preempt nobody */
	WORKER_CLASS_IDLE = 2,   /* SCHED_IDLE, idle I/O priority; nice 10 once it is raised */
};

/*
 * Returns the class in which a background worker starts: WORKER_CLASS_IDLE, or WORKER_CLASS_BATCH
 * if this process may not raise it from idle. Raising needs an RLIMIT_NICE of at least 10
 * (LimitNICE=10 of systemd) or CAP_SYS_NICE. The answer is determined once. Safe from any thread.
 */
enum worker_class worker_class_background(void);

/* Sets the class of the calling process, which must have one thread. */
void worker_class_take(enum worker_class c);

/* The state of watching a worker. */
struct worker_watch {
	pid_t pid;
	enum worker_class class;
	uint64_t starved_ns;       /* length of an interval */
	uint64_t since_ns, cpu_ns; /* time and CPU time at the start of the current interval */
};

/* now_ns: monotonic. */
void worker_watch_begin(struct worker_watch *w, pid_t pid, enum worker_class c, uint64_t starved_ms,
			uint64_t now_ns);

/*
 * Raises the worker from WORKER_CLASS_IDLE to WORKER_CLASS_BATCH if it had less than
 * 1/LIMIT_WORKER_STARVED_SHARE of a processor during the last interval. Call it repeatedly until
 * the worker is reaped. Returns the milliseconds after which it is due again, or INT32_MAX if it
 * has nothing more to do.
 */
int worker_watch_look(struct worker_watch *w, uint64_t now_ns);

#endif
