/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_H
#define RAWSTACK_BACKEND_H
/*
 * The interface of a backend, which gets samples and mapping records from the kernel. There are
 * three: collect.c (BPF, the whole machine), perf_all.c (CAP_PERFMON, the whole machine) and
 * perf_self.c (no privilege, named processes). All add to a struct events. One thread calls all
 * functions of a backend.
 */
#include "err.h"
#include "events.h"

enum backend_event {
	BACKEND_EVENT_AUTO,   /* cycles if there is a PMU, else the clock */
	BACKEND_EVENT_CLOCK,  /* "cpu-clock": a tick is a period of time */
	BACKEND_EVENT_CYCLES, /* "cycles" of the CPU: about hz ticks a second while it is busy */
};

/* The arrays and descriptors are borrowed for the call of open(). */
struct backend_options {
	uint32_t hz; /* samples a second, of each CPU or, with perf_self.c, of each thread */
	enum backend_event event;
	const uint32_t *pids; /* sample only these processes; none: every process */
	size_t pid_count;
	bool with_children;    /* also sample what these start from now on */
	const int *cgroup_fds; /* sample only below these cgroup2 directories; none: anywhere */
	size_t cgroup_count;
};

/* Cumulative counts. `runs` are the ticks that came; once the backend is stopped,
 * runs = stored + idle + filtered + ring_full. */
struct backend_stats {
	uint64_t runs, stored, idle, filtered, ring_full;
	uint64_t missed;      /* ticks of a clock that did not come, which are no runs */
	uint64_t stack_fault; /* stored samples without any address */
	uint64_t perf_lost;   /* records for which there was no room */
	uint64_t throttled;   /* times the kernel stopped an event for a while */
};

struct backend {
	const char *name; /* for spool_origin.backend */
	bool has_kernel;  /* stacks have a kernel part */
	uint64_t poll_ns; /* the longest time between polls; 0: no limit */
	/* Starts mapping records, but no samples. Returns 0 or an error; the message of ERR_DENIED
	 * names what is missing. */
	int (*open)(void **ret, const struct backend_options *options, struct err *err);
	const char *(*event)(const void *self); /* for spool_origin.event */
	/* Returns spool_origin.period_ns. NULL: it follows from options.hz. */
	uint64_t (*period)(const void *self);
	/* Adds a process to those in options.pids. Returns 0 or -errno. NULL: not needed. */
	int (*add_pid)(void *self, uint32_t pid);
	/* Finds where the kernel's text lies. Returns 0, or -errno if it does not know. NULL: it
	 * never knows. */
	int (*find_text)(void *self, uint64_t *ret_text, uint64_t *ret_etext);
	/* Starts samples. Returns 0 or an error. */
	int (*start)(void *self, struct err *err);
	/* Adds every event there is now; never waits. */
	void (*poll)(void *self, struct events *events);
	/* Does work that stops ticks for a moment. Call it when a poll's events are handled. NULL:
	 * there is no such work. */
	void (*rest)(void *self);
	/* Returns a descriptor that is readable when a ring is half full. NULL: there is none. */
	int (*wait_fd)(const void *self);
	/* Ends sampling; events that are in the rings can still be polled. */
	void (*stop)(void *self);
	void (*stats)(void *self, struct backend_stats *ret);
	void (*close)(void *self); /* frees self */
};

extern const struct backend backend_bpf;
extern const struct backend backend_perf_all;
extern const struct backend backend_perf_self;

#endif
