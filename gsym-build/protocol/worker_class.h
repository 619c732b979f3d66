/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WORKER_CLASS_H
#define RAWSTACK_WORKER_CLASS_H
/*
 * How far a table worker steps back for others on its machine (sched(7), ioprio_set(2)). One that
 * works for a service begins at idle priority: it computes and reads when nobody else wants to. On
 * a machine that is busy all day no table would ever be made so; therefore whoever waits for it
 * raises it when it got too little. Best effort: what a kernel or a container does not allow costs
 * others time, and no more.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base.h"

enum worker_class {
	WORKER_CLASS_NORMAL = 0, /* as whoever started it */
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

/* Of the calling process, which has one thread. */
void worker_class_take(enum worker_class c);

/* What the one that waits for a worker knows of it. */
struct worker_watch {
	pid_t pid;
	enum worker_class class;
	uint64_t starved_ns;       /* how long too little is suffered */
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
