/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCS_H
#define RAWSTACK_PROCS_H
/*
 * Every process as far as its stacks need it: what it has mapped at the time of the event that is
 * being handled. Events must come in order of time (struct events sees to it). One thread.
 *
 *	fork	the child shares the parent's mappings until either maps something
 *	exec	clears them
 *	exit	keeps them for a while: samples may be a little behind, and when it is only the
 *first thread that ended, the others' come on
 *
 * A process nobody told of (it is older, or records were lost) is read from /proc when its first
 * sample comes; at most LIMIT_SCANS in a poll. A reused pid is told apart by the start of the
 * process.
 */
#include "events.h"
#include "jit.h"
#include "mappings.h"
#include "procscan.h"

struct proc {
	struct proc *next;
	uint32_t pid;
	uint64_t start_ns; /* 0: not known yet */
	struct mappings *maps;
	struct module *exe; /* with a reference; NULL: unknown */
	struct jit *jit;    /* with a reference; NULL until it is asked for */
	char comm[EVENT_COMM_LEN + 1];
	uint64_t as_of_ns; /* older events say nothing new */
	uint64_t exit_ns;  /* its first thread ended, at or before it; 0: it did not */
	bool must_scan;    /* mappings may be missing */
	bool is_gone;      /* scanning failed, or found none */
};

/* How mappings are read from /proc: procscan_read(), or a test's. As it declares. */
typedef int (*procs_scan_fn)(void *ctx, uint32_t pid, struct modules *modules,
			     struct procscan *ret);

struct procs {
	struct modules modules;
	struct proc *buckets[4096];
	size_t count;
	procs_scan_fn scan;
	void *scan_ctx;
	size_t scans_left;  /* in this poll */
	size_t ended_count; /* with exit_ns */
	uint64_t swept_ns;
};

void procs_init(struct procs *ps, procs_scan_fn scan, void *scan_ctx);
void procs_done(struct procs *ps);

/* A process that runs already, read now. now_ns is the time before reading it. */
void procs_add_running(struct procs *ps, uint32_t pid, uint64_t now_ns);

/* Takes any event but samples. */
void procs_event(struct procs *ps, const struct event *e);

/* The process a sample is of; NULL above LIMIT_PROCS or without memory. */
struct proc *procs_of_sample(struct procs *ps, const struct event *e);

/* Once for each poll: forgets processes that ended long before now_ns, allows scans again. */
void procs_poll(struct procs *ps, uint64_t now_ns);

#endif
