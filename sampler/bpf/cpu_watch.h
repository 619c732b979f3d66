/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CPU_WATCH_H
#define RAWSTACK_CPU_WATCH_H
/*
 * CPUs that go and come while they are sampled. The kernel takes the events off a CPU that goes,
 * and does not put them back when it returns: their descriptors stay, and count nothing any more.
 * So events of a CPU that is off are closed, and those of one that came are opened, be it for the
 * first time; what happened in between is no loss. Stage: inside a backend. One thread.
 */
#include "err.h"

/* What a backend does for one CPU. */
struct cpu_watch_ops {
	/* A descriptor that counts as long as the CPU's events live, opened with
	 * PERF_FORMAT_TOTAL_TIME_ENABLED; -1: the CPU is not sampled. */
	int (*fd)(const void *self, size_t cpu);
	/* A number that moves on as long as anything is heard of the CPU. */
	uint64_t (*heard)(const void *self, size_t cpu);
	void (*close)(void *self, size_t cpu);
	/* -ENODEV by its descriptor: it is off again, and that is no error. */
	int (*open)(void *self, size_t cpu, struct err *err);
	/* It runs and could not be opened; once for each time it comes. */
	void (*refuse)(void *self, size_t cpu, const struct err *why);
};

struct cpu_watch {
	struct cpu_watched *cpus;
	size_t count;
	int online_fd; /* -1: the kernel does not tell which are on */
	uint64_t looked_ns;
};

/* Without memory, or where the kernel does not tell, nothing is watched. */
void cpu_watch_begin(struct cpu_watch *w, size_t count);
void cpu_watch_done(struct cpu_watch *w);

/*
 * Looks, twice in a second at most. A CPU that cannot be opened is left alone until it goes and
 * comes again. Whether one was opened: what was mapped there meanwhile nobody reported.
 */
bool cpu_watch_poll(struct cpu_watch *w, const struct cpu_watch_ops *ops, void *self,
		    uint64_t now_ns);

/* --- inside, for tests ----------------------------------------------------------------------- */

/* "0-3,6\n" of /sys/devices/system/cpu/online: sets is_on[0..count). False: it is no such list. */
bool cpu_watch_parse(const char *text, bool *is_on, size_t count);

#endif
