/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_H
#define RAWSTACK_BACKEND_H
/*
 * A way to get samples and mapping records out of the kernel. Three exist: collect.c (BPF, the
 * whole machine), perf_all.c (CAP_PERFMON, the whole machine) and perf_self.c (no privilege, named
 * processes). All deliver into a struct events.
 */
#include "err.h"
#include "events.h"

enum backend_event {
	BACKEND_EVENT_AUTO,   /* cycles where there is a PMU, else the clock */
	BACKEND_EVENT_CLOCK,  /* "cpu-clock": time */
	BACKEND_EVENT_CYCLES, /* "cycles": work; about hz a second on a busy CPU */
};

struct backend_options {
	uint32_t hz;
	enum backend_event event;
	const uint32_t *pids; /* only these processes; none: every process */
	size_t pid_count;
	bool with_children;    /* and what they start from now on */
	const int *cgroup_fds; /* only below these cgroup2 directories; none: no matter */
	size_t cgroup_count;
};

/* Cumulative. runs = stored + idle + filtered + ring_full, exact once stopped. */
struct backend_stats {
	uint64_t runs, stored, idle, filtered, ring_full;
	uint64_t missed;      /* ticks that did not come: no run; a clock's only */
	uint64_t stack_fault; /* of the stored ones: those without any address */
	uint64_t perf_lost;   /* records that found no room */
	uint64_t throttled;   /* times the kernel stopped an event for a while */
};

struct backend {
	const char *name; /* as spool_origin.backend */
	bool has_kernel;  /* stacks have a kernel part */
	uint64_t poll_ns; /* the longest time between polls; 0: any */
	/* Starts mapping records, but no samples. ERR_DENIED names what is missing. */
	int (*open)(void **ret, const struct backend_options *options, struct err *err);
	const char *(*event)(const void *self); /* as spool_origin.event */
	/* Returns spool_origin.period_ns; NULL: options.hz tells it. */
	uint64_t (*period)(const void *self);
	/* Adds a process to sample, where pids were given; NULL: not needed. -errno. */
	int (*add_pid)(void *self, uint32_t pid);
	/* Where the kernel's text lies; NULL, or -errno: it does not know. */
	int (*find_text)(void *self, uint64_t *ret_text, uint64_t *ret_etext);
	int (*start)(void *self, struct err *err);
	/* Adds every event there is now; never waits. */
	void (*poll)(void *self, struct events *events);
	/* Follows a poll whose events are handled; ticks stop for a moment. NULL: not needed. */
	void (*rest)(void *self);
	/* Returns a descriptor that is readable when a ring is half full: poll; NULL: none. */
	int (*wait_fd)(const void *self);
	/* Ends sampling; what is in the rings can still be polled. */
	void (*stop)(void *self);
	void (*stats)(void *self, struct backend_stats *ret);
	void (*close)(void *self);
};

extern const struct backend backend_bpf;
extern const struct backend backend_perf_all;
extern const struct backend backend_perf_self;

#endif
