/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CPU_WATCH_H
#define RAWSTACK_CPU_WATCH_H
/*
 * Follows CPUs that go off and come on while they are sampled. The kernel takes the events off a
 * CPU that goes, and does not put them back when it returns: their descriptors stay, but count
 * nothing any more. So the events of a CPU that is off are closed, and those of a CPU that came on
 * are opened; what happened in between is no loss. A backend uses it, from one thread.
 */
#include "err.h"

/* The functions that a backend has for one CPU. */
struct cpu_watch_ops {
	/* Returns a descriptor that counts as long as the CPU's events live, opened with
	 * PERF_FORMAT_TOTAL_TIME_ENABLED, or -1 if the CPU is not sampled. */
	int (*fd)(const void *self, size_t cpu);
	/* Returns a number that grows with each event of the CPU. */
	uint64_t (*heard)(const void *self, size_t cpu);
	void (*close)(void *self, size_t cpu);
	/* Returns 0 or an error. After 0, fd() < 0 means that the CPU is off again. */
	int (*open)(void *self, size_t cpu, struct err *err);
	/* Reports that a CPU is on and cannot be opened, once for each time it comes on. */
	void (*refuse)(void *self, size_t cpu, const struct err *why);
};

struct cpu_watch {
	struct cpu_watched *cpus;
	size_t count;
	int online_fd; /* -1: the kernel does not list the CPUs that are on */
	uint64_t looked_ns;
};

/* Begins to watch CPUs 0 to count - 1; watches none if memory is short or the kernel does not list
 * the CPUs that are on. */
void cpu_watch_begin(struct cpu_watch *w, size_t count);
void cpu_watch_done(struct cpu_watch *w);

/*
 * Looks at the CPUs, at most twice in a second. A CPU that cannot be opened is left alone until it
 * goes off and comes on again. Returns whether one was opened: mappings made there before that were
 * not reported.
 */
bool cpu_watch_poll(struct cpu_watch *w, const struct cpu_watch_ops *ops, void *self,
		    uint64_t now_ns);

/* --- inside, for tests ----------------------------------------------------------------------- */

/* Sets is_on[0..count) from a list such as "0-3,6\n" of /sys/devices/system/cpu/online. Returns
 * false if the text is no such list. */
bool cpu_watch_parse(const char *text, bool *is_on, size_t count);

#endif
