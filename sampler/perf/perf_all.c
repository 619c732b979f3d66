/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend that needs CAP_PERFMON alone: perf call chains of every process, with the kernel
 * part. The kernel does not report in this way the number of ticks (so runs are the samples that
 * came), the system call a thread is in, its state, and the start of its process. Processes can be
 * selected by name and program only.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>

#include "backend.h"
#include "cpu_watch.h"
#include "descriptors.h"
#include "io.h"
#include "log.h"
#include "perf_rights.h"
#include "perf_ring.h"
#include "tick_pair.h"
#include "ticks.h"

enum {
	RING_PAGES = 512, /* 2 MiB for each CPU: six seconds of deep stacks at 999 Hz */
	RING_PAGES_MIN = 8,
	/* Each CPU has a ring and two clocks. */
	DESCRIPTORS_EACH = 3,
	DESCRIPTORS_REST = 14,
};

struct cpu {
	int tracking_fd; /* -1: the CPU is off */
	/* The events that tick; -1: not open. Sampling by CPU cycles uses only the first. */
	int sampling_fds[TICK_PAIR_COUNT];
	struct tick_pair pair;
	struct perf_ring ring;
};

struct perf_all {
	struct cpu *cpus;
	size_t cpu_count;
	enum backend_event event;
	uint32_t hz;
	int wait_fd;
	struct perf_counts counts;
	struct cpu_watch watch;
	struct ticks ticks; /* counts for CPUs that came up and cannot be sampled */
	struct ticks_seen *seen;
	uint64_t stopped_ns; /* 0: not yet */
	bool is_started;
};

static void close_cpu(struct cpu *c)
{
	perf_ring_unmap(&c->ring);
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
		closep(&c->sampling_fds[i]);
		c->sampling_fds[i] = -1;
	}
	closep(&c->tracking_fd);
	c->tracking_fd = -1;
}

static void perf_all_close(void *self)
{
	struct perf_all *s = self;

	if (!s)
		return;
	for (size_t i = 0; i < s->cpu_count; i++)
		close_cpu(&s->cpus[i]);
	cpu_watch_done(&s->watch);
	ticks_done(&s->ticks);
	free(s->seen);
	closep(&s->wait_fd);
	free(s->cpus);
	free(s);
}

static int perf_all_denied(struct err *err, int errnum, const char *what)
{
	return perf_rights_refused(err, errnum, PERF_RIGHTS_PERF, what);
}

static size_t perf_all_clock_count(const struct perf_all *s)
{
	return s->event == BACKEND_EVENT_CLOCK ? TICK_PAIR_COUNT : 1;
}

static int open_sampling(struct perf_all *s, int cpu, size_t half, struct err *err)
{
	struct cpu *c = &s->cpus[cpu];
	struct perf_event_attr attr;

	perf_attr_sampling(&attr, s->event,
			   s->event == BACKEND_EVENT_CLOCK ? c->pair.halves[half].period_ns
							   : 1000000000 / s->hz);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP;
	attr.exclude_idle = 1;
	attr.disabled = 1;
	c->sampling_fds[half] = perf_open(&attr, -1, cpu, -1);
	if (c->sampling_fds[half] < 0)
		return perf_all_denied(err, -c->sampling_fds[half], "sampling every process");
	return ioctl(c->sampling_fds[half], PERF_EVENT_IOC_SET_OUTPUT, c->tracking_fd)
		       ? err_sys(err, errno, "ring of a clock event")
		       : 0;
}

/* Opens the events of a CPU. Samples go to the ring of the mapping records, and begin with
 * perf_all_start(). Returns 0, also if the CPU is off, or an error. */
static int perf_all_open_cpu(struct perf_all *s, int cpu, struct err *err)
{
	struct cpu *c = &s->cpus[cpu];
	struct perf_event_attr attr;
	uint64_t random;
	int rc;

	perf_attr_tracking(&attr);
	attr.cgroup = 1;
	c->tracking_fd = perf_open(&attr, -1, cpu, -1);
	if (c->tracking_fd == -ENODEV)
		return 0;
	if (c->tracking_fd < 0)
		return perf_all_denied(err, -c->tracking_fd, "watching mappings");
	rc = perf_ring_map(&c->ring, c->tracking_fd, RING_PAGES, RING_PAGES_MIN, err);
	if (rc)
		return rc;
	rc = perf_ring_watch(&s->wait_fd, c->tracking_fd);
	if (rc)
		return err_sys(err, -rc, "waiting for mappings");
	c->ring.has_kernel = c->ring.has_cgroup = true;
	io_system()->random(NULL, &random, sizeof(random));
	tick_pair_init(&c->pair, 1000000000 / s->hz, random);
	for (size_t i = 0; i < perf_all_clock_count(s) && !rc; i++)
		rc = open_sampling(s, cpu, i, err);
	return rc;
}

static int perf_all_open(void **ret, const struct backend_options *options, struct err *err)
{
	struct perf_all *s;
	bool any = false;
	int rc = 0;

	if (options->pid_count || options->cgroup_count)
		return err_set(err, ERR_USAGE,
			       "without CAP_BPF every process is sampled: --pid works with backend "
			       "perf-self, --cgroup not at all");
	rc = descriptors_check(DESCRIPTORS_EACH, DESCRIPTORS_REST, err);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (s)
		s->cpus = calloc((size_t)get_nprocs_conf(), sizeof(*s->cpus));
	if (s)
		s->seen = calloc((size_t)get_nprocs_conf(), sizeof(*s->seen));
	if (!s || !s->cpus || !s->seen) {
		if (s) {
			free(s->cpus);
			free(s->seen);
		}
		free(s);
		return err_no_memory(err);
	}
	s->cpu_count = (size_t)get_nprocs_conf();
	s->wait_fd = -1;
	s->hz = options->hz;
	cpu_watch_begin(&s->watch, s->cpu_count);
	s->event = perf_choose_event(options->event);
	for (size_t i = 0; i < s->cpu_count; i++)
		s->cpus[i] = (struct cpu){.tracking_fd = -1, .sampling_fds = {-1, -1}};
	for (size_t i = 0; i < s->cpu_count && !rc; i++) {
		rc = perf_all_open_cpu(s, (int)i, err);
		any |= s->cpus[i].tracking_fd >= 0;
	}
	if (!rc && !any)
		rc = err_set(err, ERR_IO, "no CPU to sample");
	if (rc) {
		perf_all_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static int control_cpu(struct cpu *c, unsigned long request)
{
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++)
		if (c->sampling_fds[i] >= 0 && ioctl(c->sampling_fds[i], request, 0))
			return -errno;
	tick_pair_begin(&c->pair, io_mono_ns());
	return 0;
}

static int control_events(struct perf_all *s, unsigned long request)
{
	int rc = 0;

	for (size_t i = 0; i < s->cpu_count && !rc; i++)
		rc = control_cpu(&s->cpus[i], request);
	return rc;
}

static int perf_all_start(void *self, struct err *err)
{
	struct perf_all *s = self;
	int rc = control_events(s, PERF_EVENT_IOC_ENABLE);

	ticks_begin(&s->ticks, s->cpu_count, 1000000000 / s->hz, io_mono_ns());
	s->is_started = !rc;
	return rc ? err_sys(err, -rc, "sampling a CPU") : 0;
}

static void perf_all_stop(void *self)
{
	struct perf_all *s = self;

	control_events(s, PERF_EVENT_IOC_DISABLE);
	s->stopped_ns = io_mono_ns();
}

/* --- CPUs that go and come -------------------------------------------------------------------- */

static int perf_all_watched_fd(const void *self, size_t cpu)
{
	return ((const struct perf_all *)self)->cpus[cpu].tracking_fd;
}

static uint64_t perf_all_watched_heard(const void *self, size_t cpu)
{
	return perf_ring_heard(&((const struct perf_all *)self)->cpus[cpu].ring);
}

static void perf_all_watched_close(void *self, size_t cpu)
{
	close_cpu(&((struct perf_all *)self)->cpus[cpu]);
}

static int perf_all_watched_open(void *self, size_t cpu, struct err *err)
{
	struct perf_all *s = self;
	int rc = perf_all_open_cpu(s, (int)cpu, err);

	if (rc || s->cpus[cpu].tracking_fd < 0)
		return rc;
	ticks_begin_cpu(&s->ticks, cpu, &s->seen[cpu], false, io_mono_ns());
	rc = s->is_started ? control_cpu(&s->cpus[cpu], PERF_EVENT_IOC_ENABLE) : 0;
	return rc ? err_sys(err, -rc, "sampling a CPU") : 0;
}

static void perf_all_watched_refuse(void *self, size_t cpu, const struct err *why)
{
	struct perf_all *s = self;

	log_warn("CPU %zu came up and is not sampled; what it would have had is counted as missed, "
		 "until the sampler is started again: %s",
		 cpu, why->message);
	ticks_begin_cpu(&s->ticks, cpu, &s->seen[cpu], true, io_mono_ns());
}

static const struct cpu_watch_ops ops = {
	.fd = perf_all_watched_fd,
	.heard = perf_all_watched_heard,
	.close = perf_all_watched_close,
	.open = perf_all_watched_open,
	.refuse = perf_all_watched_refuse,
};

/* Follows CPUs that go and come. If one was opened, an EVENT_LOST makes earlier mappings be read
 * from /proc. */
static void watch_records(struct perf_all *s, struct events *events)
{
	const uint64_t now = io_mono_ns();
	const struct event lost = {.kind = EVENT_LOST, .time_ns = now};

	if (!s->stopped_ns && cpu_watch_poll(&s->watch, &ops, s, now))
		events_add(events, &lost);
	ticks_poll(&s->ticks, s->seen, s->stopped_ns ? s->stopped_ns : now, s->stopped_ns);
}

static void perf_all_rest(void *self)
{
	struct perf_all *s = self;
	const uint64_t now = io_mono_ns();

	if (!s->is_started || s->stopped_ns)
		return;
	for (size_t i = 0; i < s->cpu_count; i++)
		if (s->cpus[i].sampling_fds[TICK_PAIR_COUNT - 1] >= 0 &&
		    tick_pair_is_old(&s->cpus[i].pair, now))
			tick_pair_turn(&s->cpus[i].pair, s->cpus[i].sampling_fds);
}

static void perf_all_poll(void *self, struct events *events)
{
	struct perf_all *s = self;

	for (size_t i = 0; i < s->cpu_count; i++)
		if (s->cpus[i].ring.base)
			perf_ring_drain(&s->cpus[i].ring, events, &s->counts);
	watch_records(s, events);
}

static int perf_all_wait_fd(const void *self)
{
	return ((const struct perf_all *)self)->wait_fd;
}

static void perf_all_stats(void *self, struct backend_stats *ret)
{
	const struct perf_all *s = self;

	*ret = (struct backend_stats){
		.runs = s->counts.samples,
		.stored = s->counts.samples - s->counts.refused,
		.ring_full = s->counts.refused,
		.missed = s->ticks.missed,
		.perf_lost = s->counts.lost,
		.throttled = s->counts.throttled,
	};
}

static const char *perf_all_event(const void *self)
{
	return perf_event_name(((const struct perf_all *)self)->event);
}

const struct backend backend_perf_all = {
	.name = "perf",
	.has_kernel = true,
	.event = perf_all_event,
	.open = perf_all_open,
	.start = perf_all_start,
	.poll = perf_all_poll,
	.rest = perf_all_rest,
	.wait_fd = perf_all_wait_fd,
	.stop = perf_all_stop,
	.stats = perf_all_stats,
	.close = perf_all_close,
};
