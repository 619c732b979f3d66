/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCS_PRIV_H
#define RAWSTACK_PROCS_PRIV_H
/* Shared by the parts of procs.h: procs.c has the processes and their events, procs_ids.c the ids
 * of their files, procs_read.c what is read from /proc. */
#include "procs.h"

#define PROCS_UNREAD UINT64_MAX /* a value of read_ns: not read since records were lost */

/* Returns the process in which a tick at now_ns fell and which began at start_ns, or NULL as
 * procs_of_sample() does. has_memory: it is no kernel thread. */
struct proc *procs_of_start(struct procs *ps, uint32_t pid, uint64_t start_ns, uint64_t now_ns,
			    bool has_memory);

/* Reads the mappings of a process, if the budget allows it; otherwise must_scan stays set. */
void procs_scan(struct procs *ps, struct proc *p, uint64_t now_ns);

/* Checks what is known of a process before a sample of it is placed, and asks for what is missing.
 * Only for processes with memory. */
void procs_look_again(struct procs *ps, struct proc *p, const struct event *e);

/* Call it once in each poll: allows more to be read, and drops tables when all together are too
 * large. */
void procs_poll_reading(struct procs *ps);

/*
 * So many readings must agree (procs.h), at first and at most. While records are lost a process is
 * read two to ten times a second, so 8 readings take about PROCS_STEADY_NS. With 64, a program that
 * opens a library now and then has no names for some ten seconds after it.
 */
enum {
	PROCS_AGREED_LEAST = 8,
	PROCS_AGREED_MOST = 64,
};

/* Returns whether readings agree on what p had mapped at its last sample or hint. */
bool procs_is_agreed(const struct proc *p);

/* Notes that at time_ns something was mapped that readings did not find: earlier readings no longer
 * count. */
void procs_disagree(struct proc *p, uint64_t time_ns);

void procs_set_exe(struct proc *p, struct module *exe);
void procs_set_exit(struct procs *ps, struct proc *p, uint64_t exit_ns);

/* Takes what the kernel told of files at a tick. */
void procs_on_hint(struct procs *ps, const struct event *e);

#endif
