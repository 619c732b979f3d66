/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend over BPF: on every CPU a clock event that runs the program of sampler.bpf.c, and an
 * event that reports mappings. The only file that sees libbpf. Needs CAP_BPF and CAP_PERFMON, and
 * only to open and start.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "backend.h"
#include "capabilities.h"
#include "limits.h"
#include "perf_ring.h"
#include "sampler_event.h"

#include "sampler.skel.h"

enum {
	MAPPING_PAGES = 64, /* 256 KiB of ring for each CPU: 1,700 records between polls */
	RING_SECONDS = 4,   /* of samples the ring holds: how long a poll may be late */
	RING_SAMPLE_LEN = 1024,
	RING_LEN_MIN = 256 << 10,
	RING_LEN_MAX = 64 << 20,
};

struct cpu {
	int mapping_fd;
	struct perf_ring mapping;
	struct bpf_link *link; /* owns the clock event */
};

struct collect {
	struct sampler *skel;
	struct ring_buffer *ring;
	struct cpu *cpus;
	size_t cpu_count;
	uint32_t hz;
	struct events *events; /* while polling */
	struct perf_counts counts;
	uint64_t refused;
};

static int quiet(enum libbpf_print_level level _unused_, const char *fmt _unused_,
		 va_list ap _unused_)
{
	return 0;
}

static void collect_stop(void *self)
{
	struct collect *c = self;

	for (size_t i = 0; i < c->cpu_count; i++) {
		bpf_link__destroy(c->cpus[i].link);
		c->cpus[i].link = NULL;
	}
}

static void collect_close(void *self)
{
	struct collect *c = self;

	if (!c)
		return;
	collect_stop(c);
	for (size_t i = 0; i < c->cpu_count; i++) {
		perf_ring_unmap(&c->cpus[i].mapping);
		closep(&c->cpus[i].mapping_fd);
	}
	free(c->cpus);
	ring_buffer__free(c->ring);
	sampler__destroy(c->skel);
	free(c);
}

/* --- samples --------------------------------------------------------------------------------- */

static int take_sample(void *ctx, void *data, size_t len)
{
	const size_t head_len = offsetof(struct sampler_event, pcs);
	struct collect *c = ctx;
	struct sampler_event in;
	struct event e;

	if (len < head_len)
		return 0;
	memcpy(&in, data, head_len);
	if ((size_t)in.kernel_len + in.user_len > len - head_len)
		return 0;
	e = (struct event){
		.time_ns = in.time_ns,
		.pid = in.pid,
		.tid = in.tid,
		.kind = EVENT_SAMPLE,
		.sample =
			{
				.start_ns = in.start_ns,
				.cgroup_id = in.cgroup_id,
				.cpu = in.cpu,
				.flags = (in.flags & SAMPLER_KERNEL_THREAD ? SAMPLE_KERNEL_THREAD
									   : 0) |
					 (in.flags & SAMPLER_EXITING ? SAMPLE_EXITING : 0),
				.syscall = in.syscall,
				.kernel_err = in.kernel_err,
				.user_err = in.user_err,
				.kernel_count = in.kernel_len / 8,
				.user_count = in.user_len / 8,
			},
		.data = (const uint8_t *)data + head_len,
		.data_len = (size_t)in.kernel_len + in.user_len,
	};
	memcpy(e.sample.comm, in.comm, sizeof(e.sample.comm));
	if (!events_add(c->events, &e))
		c->refused++;
	return 0;
}

static void collect_poll(void *self, struct events *events)
{
	struct collect *c = self;

	c->events = events;
	for (size_t i = 0; i < c->cpu_count; i++)
		if (c->cpus[i].mapping.base)
			perf_ring_drain(&c->cpus[i].mapping, events, &c->counts);
	ring_buffer__consume(c->ring);
}

static void collect_stats(void *self, struct backend_stats *ret)
{
	struct collect *c = self;
	int cpus = libbpf_num_possible_cpus();
	uint64_t sums[SAMPLER_COUNTER_COUNT] = {0}, *values;

	*ret = (struct backend_stats){0};
	values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	if (!values)
		return;
	for (uint32_t i = 0; i < SAMPLER_COUNTER_COUNT; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counters), &i, values))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			sums[i] += values[cpu];
	}
	free(values);
	*ret = (struct backend_stats){
		.runs = sums[SAMPLER_RUNS],
		.stored = sums[SAMPLER_STORED] - c->refused,
		.idle = sums[SAMPLER_IDLE],
		.filtered = sums[SAMPLER_FILTERED],
		.ring_full = sums[SAMPLER_RING_FULL] + c->refused,
		.stack_fault = sums[SAMPLER_STACK_FAULT],
		.perf_lost = c->counts.lost,
		.throttled = c->counts.throttled,
	};
}

/* --- opening --------------------------------------------------------------------------------- */

static int denied(struct err *err, int errnum, const char *what)
{
	char missing[64];

	if (errnum == EPERM || errnum == EACCES)
		return err_set(err, ERR_DENIED, "%s is not permitted: %s", what,
			       capabilities_missing(missing, sizeof(missing)));
	return err_sys(err, errnum, "%s", what);
}

static uint32_t ring_len(uint32_t hz, size_t cpu_count)
{
	uint64_t want = (uint64_t)hz * cpu_count * RING_SECONDS * RING_SAMPLE_LEN;
	uint32_t len = RING_LEN_MIN;

	while (len < want && len < RING_LEN_MAX)
		len *= 2;
	return len;
}

static int load(struct collect *c, const struct backend_options *o, struct err *err)
{
	int rc;

	libbpf_set_print(quiet);
	c->skel = sampler__open();
	if (!c->skel)
		return denied(err, errno, "opening the BPF program");
	c->skel->rodata->filter = o->pid_count        ? SAMPLER_FILTER_PIDS
				  : o->cgroup_fd >= 0 ? SAMPLER_FILTER_CGROUP
						      : SAMPLER_FILTER_NONE;
	bpf_map__set_max_entries(c->skel->maps.ring, ring_len(o->hz, c->cpu_count));
	rc = sampler__load(c->skel);
	if (rc)
		return denied(err, -rc, "loading the BPF program");
	for (size_t i = 0; i < o->pid_count; i++) {
		const uint8_t one = 1;

		rc = bpf_map_update_elem(bpf_map__fd(c->skel->maps.pids), &o->pids[i], &one, 0);
		if (rc)
			return err_sys(err, -rc, "set of process ids");
	}
	if (o->cgroup_fd >= 0) {
		const uint32_t zero = 0;

		rc = bpf_map_update_elem(bpf_map__fd(c->skel->maps.cgroups), &zero, &o->cgroup_fd,
					 0);
		if (rc)
			return err_sys(err, -rc, "that is no directory of a cgroup2 file system");
	}
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.ring), take_sample, c, NULL);
	return c->ring ? 0 : err_sys(err, errno, "ring buffer");
}

static int open_mappings(struct collect *c, struct err *err)
{
	struct perf_event_attr attr;
	bool any = false;

	perf_attr_tracking(&attr);
	for (size_t i = 0; i < c->cpu_count; i++) {
		int fd = perf_open(&attr, -1, (int)i, -1), rc;

		if (fd == -ENODEV) /* a CPU that is off */
			continue;
		if (fd < 0)
			return denied(err, -fd, "watching mappings");
		c->cpus[i].mapping_fd = fd;
		rc = perf_ring_map(&c->cpus[i].mapping, fd, MAPPING_PAGES, 8, err);
		if (rc)
			return rc;
		any = true;
	}
	return any ? 0 : err_set(err, ERR_IO, "no CPU to sample");
}

static int collect_open(void **ret, const struct backend_options *options, struct err *err)
{
	struct collect *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(err, ERR_MEMORY, "out of memory for the sampler");
	c->hz = options->hz;
	c->cpu_count = (size_t)get_nprocs_conf();
	c->cpus = calloc(c->cpu_count, sizeof(*c->cpus));
	if (!c->cpus) {
		c->cpu_count = 0;
		collect_close(c);
		return err_set(err, ERR_MEMORY, "out of memory for the sampler");
	}
	for (size_t i = 0; i < c->cpu_count; i++)
		c->cpus[i].mapping_fd = -1;
	rc = load(c, options, err);
	if (!rc)
		rc = open_mappings(c, err);
	if (rc) {
		collect_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

static int start_cpu(struct collect *c, size_t cpu, struct err *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / c->hz,
		/* As perf_attr_tracking(), so that its THROTTLE records are read alike. */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = perf_open(&attr, -1, (int)cpu, -1);

	if (fd < 0)
		return denied(err, -fd, "sampling a CPU");
	/* The program keeps samples from the ring; what remains is THROTTLE. */
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->cpus[cpu].mapping_fd)) {
		int errnum = errno;

		close(fd);
		return err_sys(err, errnum, "ring of a clock event");
	}
	c->cpus[cpu].link = bpf_program__attach_perf_event(c->skel->progs.sampler_tick, fd);
	if (!c->cpus[cpu].link) {
		int errnum = errno;

		close(fd);
		return denied(err, errnum, "attaching the BPF program");
	}
	return 0;
}

static int collect_start(void *self, struct err *err)
{
	struct collect *c = self;

	for (size_t i = 0; i < c->cpu_count; i++) {
		int rc = c->cpus[i].mapping_fd < 0 ? 0 : start_cpu(c, i, err);

		if (rc)
			return rc;
	}
	return 0;
}

const struct backend backend_bpf = {
	.name = "bpf",
	.event = "cpu-clock",
	.open = collect_open,
	.start = collect_start,
	.poll = collect_poll,
	.stop = collect_stop,
	.stats = collect_stats,
	.close = collect_close,
};
