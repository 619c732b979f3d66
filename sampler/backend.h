/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_H
#define RAWSTACK_BACKEND_H
/*
 * A way to get samples and mapping records out of the kernel. Two exist: collect.c (BPF, the whole
 * machine) and perf_self.c (no privilege, own processes). Both deliver into a struct events.
 */
#include "err.h"
#include "events.h"

struct backend_options {
	uint32_t hz;
	const uint32_t *pids; /* only these processes; none: every process */
	size_t pid_count;
	int cgroup_fd; /* only below this cgroup2 directory; -1: no matter */
};

/* Cumulative. runs = stored + idle + filtered + ring_full, exact once stopped. */
struct backend_stats {
	uint64_t runs, stored, idle, filtered, ring_full;
	uint64_t stack_fault; /* of stored: without any address */
	uint64_t perf_lost;   /* records that found no room */
	uint64_t throttled;   /* times the kernel stopped an event for a while */
};

struct backend {
	const char *name;  /* as spool_origin.backend */
	const char *event; /* as spool_origin.event */
	/* Mapping records flow from here on, samples do not. ERR_DENIED names what is missing. */
	int (*open)(void **ret, const struct backend_options *options, struct err *err);
	int (*start)(void *self, struct err *err);
	/* Everything there is now; never waits. */
	void (*poll)(void *self, struct events *events);
	/* No more samples; what is in the rings can still be polled. */
	void (*stop)(void *self);
	void (*stats)(void *self, struct backend_stats *ret);
	void (*close)(void *self);
};

extern const struct backend backend_bpf;
extern const struct backend backend_perf_self;

#endif
