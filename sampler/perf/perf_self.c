/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend that needs no privilege: perf_event_open(2) on the threads of named processes of the
 * same user, for the user part of stacks only. Later children and threads inherit the events. An
 * ordinary user may do this if kernel.perf_event_paranoid is 2 or less.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "backend.h"
#include "capabilities.h"
#include "io.h"
#include "number.h"
#include "perf_rights.h"
#include "perf_ring.h"

enum {
	RING_PAGES = 64, /* for each CPU; halved until kernel.perf_event_mlock_kb allows it */
	RING_PAGES_MIN = 2,
	LIMIT_PERF_SELF_EVENTS =
		4096, /* most descriptors, of which each thread takes two for each CPU */
	SPREAD = 20,  /* the period is off by at most 1/SPREAD */
};

struct perf_self {
	struct backend_options options;
	size_t cpu_count;
	struct perf_ring *rings; /* one for each CPU, in the first event opened on it */
	int *ring_fds;
	int *fds;
	size_t fd_count, fd_cap;
	size_t tick_fds; /* fds[] from here on tick, beginning with perf_self_start() */
	uint64_t period_ns;
	struct perf_counts counts;
};

static void perf_self_close(void *self)
{
	struct perf_self *s = self;

	if (!s)
		return;
	for (size_t i = 0; i < s->cpu_count && s->rings; i++)
		perf_ring_unmap(&s->rings[i]);
	for (size_t i = 0; i < s->fd_count; i++)
		close(s->fds[i]);
	free(s->fds);
	free(s->ring_fds);
	free(s->rings);
	free(s);
}

/* --- events ---------------------------------------------------------------------------------- */

static int perf_self_denied(struct err *err, int errnum, uint32_t pid)
{
	char advice[192];
	int level;

	if (errnum != EPERM && errnum != EACCES)
		return err_sys(err, errnum, "sampling process %u", pid);
	perf_rights_paranoid_advice(advice, sizeof(advice));
	if (!*advice && perf_rights_paranoid(&level))
		snprintf(advice, sizeof(advice), "kernel.perf_event_paranoid is %d", level);
	return err_set(err, ERR_DENIED,
		       "sampling process %u is not permitted: %s only own processes can be "
		       "sampled%s%s",
		       pid,
		       capabilities_have(CAP_PERFMON) ? "without CAP_SYS_PTRACE or CAP_SYS_ADMIN"
						      : "CAP_PERFMON is missing, and without it",
		       *advice ? "; " : "", advice);
}

/* Opens one event of a thread on a CPU, whose records go to the ring of the CPU. Returns 0, also if
 * the thread ended or the CPU is off, or an error. */
static int add_event(struct perf_self *s, struct perf_event_attr *attr, uint32_t pid, uint32_t tid,
		     size_t cpu, struct err *err)
{
	int fd, rc;

	if (!GROW(s->fds, &s->fd_cap, s->fd_count + 1, LIMIT_PERF_SELF_EVENTS))
		return err_set(err, ERR_LIMIT, "more than %d threads times CPUs to sample",
			       LIMIT_PERF_SELF_EVENTS);
	fd = perf_open(attr, (int32_t)tid, (int)cpu, -1);
	if (fd == -ESRCH || fd == -ENODEV) /* the thread ended, the CPU is off */
		return 0;
	if (fd < 0)
		return perf_self_denied(err, -fd, pid);
	s->fds[s->fd_count++] = fd;
	if (s->ring_fds[cpu] < 0) {
		rc = perf_ring_map(&s->rings[cpu], fd, RING_PAGES, RING_PAGES_MIN, err);
		if (!rc)
			s->ring_fds[cpu] = fd;
		return rc;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring_fds[cpu]))
		return err_sys(err, errno, "ring of process %u", pid);
	return 0;
}

static int add_thread(struct perf_self *s, struct perf_event_attr *attr, uint32_t pid, uint32_t tid,
		      struct err *err)
{
	int rc = 0;

	for (size_t cpu = 0; cpu < s->cpu_count && !rc; cpu++)
		rc = add_event(s, attr, pid, tid, cpu, err);
	return rc;
}

/* Adds all threads of a process. Threads that start meanwhile inherit the events of the thread that
 * starts them. */
static int add_process(struct perf_self *s, struct perf_event_attr *attr, uint32_t pid,
		       struct err *err)
{
	struct dirent *entry;
	char path[64];
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return err_sys(err, errno, "process %u", pid);
	while (!rc && (entry = readdir(dir))) {
		uint64_t tid;

		if (number_read(entry->d_name, 10, &tid) && tid)
			rc = add_thread(s, attr, pid, (uint32_t)tid, err);
	}
	closedir(dir);
	return rc;
}

static int add_all(struct perf_self *s, struct perf_event_attr *attr, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->options.pid_count && !rc; i++)
		rc = add_process(s, attr, s->options.pids[i], err);
	return rc;
}

/*
 * Returns a random period near 1/hz. A round period meets a program that works in a cycle of that
 * length at the same place again and again. These events count the time of each thread, and threads
 * may be short, so that drawing periods anew (tick_pair.h) would cost too many ticks. So one period
 * is drawn for the run, and the spool has it as the time that a sample stands for.
 */
static uint64_t draw_period(uint32_t hz)
{
	const uint64_t period_ns = 1000000000 / hz, most = period_ns / SPREAD;
	uint64_t random;

	io_system()->random(NULL, &random, sizeof(random));
	return period_ns - most + random % (2 * most + 1);
}

/* --- backend --------------------------------------------------------------------------------- */

static int perf_self_open(void **ret, const struct backend_options *options, struct err *err)
{
	struct perf_event_attr attr;
	struct perf_self *s;
	int rc;

	if (!options->pid_count)
		return err_set(err, ERR_USAGE,
			       "without CAP_BPF and CAP_PERFMON only own processes can be sampled: "
			       "name them with --pid");
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_no_memory(err);
	s->options = *options;
	s->period_ns = draw_period(options->hz);
	s->cpu_count = (size_t)get_nprocs_conf();
	s->rings = calloc(s->cpu_count, sizeof(*s->rings));
	s->ring_fds = calloc(s->cpu_count, sizeof(*s->ring_fds));
	if (!s->rings || !s->ring_fds) {
		perf_self_close(s);
		return err_no_memory(err);
	}
	for (size_t i = 0; i < s->cpu_count; i++)
		s->ring_fds[i] = -1;
	perf_attr_tracking(&attr);
	attr.inherit = 1;
	attr.exclude_kernel = attr.exclude_hv = 1;
	rc = add_all(s, &attr, err);
	if (!rc && !s->fd_count)
		rc = err_set(err, ERR_NOT_FOUND, "none of the processes is running");
	/* The events that tick are opened now, before capabilities are given up, because
	 * kernel.perf_event_paranoid may ask for more than sampling keeps. */
	s->tick_fds = s->fd_count;
	perf_attr_sampling(&attr, BACKEND_EVENT_CLOCK, s->period_ns);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.inherit = 1;
	attr.exclude_kernel = attr.exclude_hv = attr.exclude_callchain_kernel = 1;
	attr.disabled = 1;
	if (!rc)
		rc = add_all(s, &attr, err);
	if (rc) {
		perf_self_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static int perf_self_start(void *self, struct err *err)
{
	struct perf_self *s = self;

	/* This also enables the inherited events of threads and children started meanwhile. */
	for (size_t i = s->tick_fds; i < s->fd_count; i++)
		if (ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(err, errno, "sampling named processes");
	return 0;
}

static void perf_self_poll(void *self, struct events *events)
{
	struct perf_self *s = self;

	for (size_t i = 0; i < s->cpu_count; i++)
		if (s->rings[i].base)
			perf_ring_drain(&s->rings[i], events, &s->counts);
}

static void perf_self_stop(void *self)
{
	struct perf_self *s = self;

	for (size_t i = 0; i < s->fd_count; i++)
		ioctl(s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* The kernel does not report the number of ticks: LOST records count lost samples together with
 * lost mappings. */
static void perf_self_stats(void *self, struct backend_stats *ret)
{
	const struct perf_self *s = self;

	*ret = (struct backend_stats){
		.runs = s->counts.samples,
		.stored = s->counts.samples - s->counts.refused,
		.ring_full = s->counts.refused,
		.perf_lost = s->counts.lost,
		.throttled = s->counts.throttled,
	};
}

static const char *perf_self_event(const void *self _unused_)
{
	return "cpu-clock:u";
}

static uint64_t perf_self_period(const void *self)
{
	return ((const struct perf_self *)self)->period_ns;
}

const struct backend backend_perf_self = {
	.name = "perf-self",
	.poll_ns = 200000000, /* rings are small, and an event of an ended thread stays readable */
	.event = perf_self_event,
	.period = perf_self_period,
	.open = perf_self_open,
	.start = perf_self_start,
	.poll = perf_self_poll,
	.stop = perf_self_stop,
	.stats = perf_self_stats,
	.close = perf_self_close,
};
