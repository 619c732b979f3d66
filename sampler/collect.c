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
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "backend.h"
#include "capabilities.h"
#include "kernel_types.h"
#include "limits.h"
#include "perf_ring.h"
#include "sampler_event.h"
#include "stack_table.h"

#include "sampler.skel.h"

enum {
	MAPPING_PAGES = 64,    /* 256 KiB of ring for each CPU: 1,700 records, polled at half */
	RING_SECONDS = 4,      /* of samples the ring holds: how long a poll may be late */
	RING_SAMPLE_LEN = 512, /* half as much again as with 40 frames */
	PIDS_MIN = 8192,       /* a set of processes and their children: 100 bytes each */
	RING_LEN_MIN = 256 << 10,
	RING_LEN_MAX = 64 << 20,
};

struct cpu {
	int mapping_fd;
	struct perf_ring mapping;
	struct bpf_link *link; /* owns the clock event */
};

/* The memory of an array that BPF programs write to. */
struct counters {
	struct sampler_counters *rows;
	size_t count, len;
};

struct collect {
	struct sampler *skel;
	struct ring_buffer *ring;
	struct cpu *cpus;
	size_t cpu_count;
	struct counters counters;
	struct bpf_link *fork_link, *exit_link;
	uint64_t period_ns;
	enum backend_event event;
	int wait_fd;
	struct stack_table stacks;
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
	stack_table_done(&c->stacks);
	closep(&c->wait_fd);
	free(c->cpus);
	bpf_link__destroy(c->fork_link);
	bpf_link__destroy(c->exit_link);
	if (c->counters.rows)
		munmap(c->counters.rows, c->counters.len);
	ring_buffer__free(c->ring);
	sampler__destroy(c->skel);
	free(c);
}

/* --- stacks that are sent once --------------------------------------------------------------- */

/* From now on other hashes are made, which nobody can foresee; or none. */
static void set_hashes(struct collect *c, bool are_wanted)
{
	uint64_t start = 0;

	if (are_wanted && getrandom(&start, sizeof(start), GRND_NONBLOCK) != (ssize_t)sizeof(start))
		start = 0;
	if (c->skel->bss)
		__atomic_store_n(&c->skel->bss->control.hash_start, start, __ATOMIC_RELAXED);
}

/* The stack of a sample: sent with it, or before. */
static void take_stack(struct collect *c, const struct sampler_event *in, const uint8_t *pcs,
		       struct event *e)
{
	const size_t len = (size_t)in->kernel_len + in->user_len;
	const struct stack_row *row = NULL;

	e->data = pcs;
	e->data_len = len;
	if (in->flags & SAMPLER_STACK_SENT) {
		row = stack_table_find(&c->stacks, in->stack_hash);
		if (!row || row->len != len) {
			/* Cannot be; the sample keeps its weight. */
			c->stacks.unknown++;
			e->data_len = 0;
			e->sample.kernel_count = e->sample.user_count = 0;
			e->sample.kernel_err = e->sample.user_err = -ENOENT;
			return;
		}
	} else if (in->stack_hash) {
		row = stack_table_add(&c->stacks, in->stack_hash, pcs, len);
	}
	if (!row)
		return;
	e->data = row->pcs;
	e->is_lasting = true;
	e->sample.stack_id = row->hash;
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
	if (!(in.flags & SAMPLER_STACK_SENT) &&
	    (size_t)in.kernel_len + in.user_len > len - head_len)
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
				.state = in.state,
				.kernel_err = in.kernel_err,
				.user_err = in.user_err,
				.kernel_count = in.kernel_len / 8,
				.user_count = in.user_len / 8,
			},
	};
	take_stack(c, &in, (const uint8_t *)data + head_len, &e);
	memcpy(e.sample.comm, in.comm, sizeof(e.sample.comm));
	if (!events_add(c->events, &e))
		c->refused++;
	return 0;
}

static int collect_wait_fd(const void *self)
{
	return ((const struct collect *)self)->wait_fd;
}

static void collect_poll(void *self, struct events *events)
{
	struct collect *c = self;
	enum stack_table_state was;
	bool is_fresh;

	c->events = events;
	for (size_t i = 0; i < c->cpu_count; i++)
		if (c->cpus[i].mapping.base)
			perf_ring_drain(&c->cpus[i].mapping, events, &c->counts);
	ring_buffer__consume(c->ring);
	was = c->stacks.state;
	is_fresh = stack_table_poll(&c->stacks);
	if (is_fresh || c->stacks.state != was)
		set_hashes(c, is_fresh);
}

/* How many ticks did not come between the first and the last one of a CPU: its virtual processor
 * was away, or another program of BPF ran. Ticks stay in phase. */
static uint64_t missed(const struct collect *c, const struct sampler_counters *n)
{
	uint64_t due;

	if (c->event != BACKEND_EVENT_CLOCK || !n->runs)
		return 0;
	due = (n->last_ns - n->first_ns + c->period_ns / 2) / c->period_ns + 1;
	return due > n->runs ? due - n->runs : 0;
}

/* Rows are written while they are read: each number is one that was there, no more. */
static void collect_stats(void *self, struct backend_stats *ret)
{
	const struct collect *c = self;

	*ret = (struct backend_stats){
		.stored = -c->refused,
		.ring_full = c->refused,
		.perf_lost = c->counts.lost,
		.throttled = c->counts.throttled,
	};
	for (size_t i = 0; i < c->counters.count; i++) {
		const struct sampler_counters n = c->counters.rows[i];

		ret->runs += n.runs;
		ret->stored += n.stored;
		ret->idle += n.idle;
		ret->filtered += n.filtered;
		ret->ring_full += n.ring_full;
		ret->stack_fault += n.stack_fault;
		ret->missed += missed(c, &n);
	}
	if (c->skel->bss)
		ret->perf_lost += c->skel->bss->children_missed;
	ret->stack_fault += c->stacks.unknown;
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

static int map_counters(struct collect *c, struct err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct counters *n = &c->counters;
	void *rows;

	n->count = (size_t)libbpf_num_possible_cpus();
	n->len = (n->count * sizeof(*n->rows) + page - 1) / page * page;
	rows = mmap(NULL, n->len, PROT_READ, MAP_SHARED, bpf_map__fd(c->skel->maps.counters), 0);
	if (rows == MAP_FAILED)
		return err_sys(err, errno, "counters of the BPF program");
	n->rows = rows;
	return 0;
}

static int fill_targets(struct collect *c, const struct backend_options *o, struct err *err)
{
	int rc;

	for (size_t i = 0; i < o->pid_count; i++) {
		const uint8_t one = 1;

		rc = bpf_map_update_elem(bpf_map__fd(c->skel->maps.pids), &o->pids[i], &one, 0);
		if (rc)
			return err_sys(err, -rc, "set of process ids");
	}
	for (uint32_t i = 0; i < o->cgroup_count; i++) {
		rc = bpf_map_update_elem(bpf_map__fd(c->skel->maps.cgroups), &i, &o->cgroup_fds[i],
					 0);
		if (rc)
			return err_sys(err, -rc, "that is no directory of a cgroup2 file system");
	}
	return 0;
}

/* A file that is only in memory with the types the programs need; -1: libbpf shall look itself. */
static int open_types(void)
{
	_cleanup_(buf_done) struct buf types = BUF_INIT(65536);
	int fd;

	if (kernel_types_cut(&types))
		return -1;
	fd = memfd_create("rawstack-types", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, types.p, types.len) != (ssize_t)types.len) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens and loads what this run needs. types: NULL, or a file with them. A program that this kernel
 * does not know fails all of them: the one that is only for speed is left out then. */
static int load_programs(struct collect *c, const struct backend_options *o, bool find_text,
			 const char *types, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const bool has_children = o->pid_count && o->with_children;
	int rc;

	sampler__destroy(c->skel);
	opts.btf_custom_path = types;
	c->skel = sampler__open_opts(&opts);
	if (!c->skel)
		return denied(err, errno, "opening the BPF program");
	c->skel->rodata->filter = o->pid_count      ? SAMPLER_FILTER_PIDS
				  : o->cgroup_count ? SAMPLER_FILTER_CGROUP
						    : SAMPLER_FILTER_NONE;
	c->skel->rodata->cgroup_count = (uint32_t)o->cgroup_count;
	bpf_program__set_autoload(c->skel->progs.sampler_fork, has_children);
	bpf_program__set_autoload(c->skel->progs.sampler_exit, has_children);
	bpf_program__set_autoload(c->skel->progs.sampler_find_text, find_text);
	bpf_map__set_max_entries(c->skel->maps.ring, ring_len(o->hz, c->cpu_count));
	bpf_map__set_max_entries(c->skel->maps.counters, (uint32_t)libbpf_num_possible_cpus());
	if (o->pid_count)
		bpf_map__set_max_entries(c->skel->maps.pids,
					 (uint32_t)o->pid_count + (has_children ? PIDS_MIN : 0));
	rc = sampler__load(c->skel);
	return rc ? denied(err, -rc, "loading the BPF program") : 0;
}

static int attach_children(struct collect *c, struct err *err)
{
	c->fork_link = bpf_program__attach(c->skel->progs.sampler_fork);
	if (c->fork_link)
		c->exit_link = bpf_program__attach(c->skel->progs.sampler_exit);
	return c->exit_link ? 0 : denied(err, errno, "watching for children");
}

static int load(struct collect *c, const struct backend_options *o, struct err *err)
{
	_cleanup_(closep) int types_fd = open_types();
	char types[32];
	int rc;

	libbpf_set_print(quiet);
	if (types_fd >= 0)
		snprintf(types, sizeof(types), "/proc/self/fd/%d", types_fd);
	rc = load_programs(c, o, true, types_fd < 0 ? NULL : types, err);
	if (rc)
		rc = load_programs(c, o, true, NULL, err);
	if (rc)
		rc = load_programs(c, o, false, NULL, err);
	if (!rc)
		rc = map_counters(c, err);
	if (!rc)
		rc = fill_targets(c, o, err);
	if (!rc && o->pid_count && o->with_children)
		rc = attach_children(c, err);
	if (rc)
		return rc;
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.ring), take_sample, c, NULL);
	return c->ring ? 0 : err_sys(err, errno, "ring buffer");
}

static int open_mappings(struct collect *c, struct err *err)
{
	struct perf_event_attr attr;
	bool any = false;

	perf_attr_tracking(&attr);
	attr.cgroup = 1;
	for (size_t i = 0; i < c->cpu_count; i++) {
		int fd = perf_open(&attr, -1, (int)i, -1), rc;

		if (fd == -EINVAL && attr.cgroup) {
			/* A kernel without it: new ones are looked for. */
			attr.cgroup = 0;
			fd = perf_open(&attr, -1, (int)i, -1);
		}

		if (fd == -ENODEV) /* a CPU that is off */
			continue;
		if (fd < 0)
			return denied(err, -fd, "watching mappings");
		c->cpus[i].mapping_fd = fd;
		rc = perf_ring_map(&c->cpus[i].mapping, fd, MAPPING_PAGES, 8, err);
		if (rc)
			return rc;
		rc = perf_ring_watch(&c->wait_fd, fd);
		if (rc)
			return err_sys(err, -rc, "waiting for mappings");
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
	c->wait_fd = -1;
	c->period_ns = 1000000000 / options->hz;
	c->event = perf_choose_event(options->event);
	c->cpu_count = (size_t)get_nprocs_conf();
	c->cpus = calloc(c->cpu_count, sizeof(*c->cpus));
	if (!c->cpus) {
		c->cpu_count = 0;
		collect_close(c);
		return err_set(err, ERR_MEMORY, "out of memory for the sampler");
	}
	for (size_t i = 0; i < c->cpu_count; i++)
		c->cpus[i].mapping_fd = -1;
	stack_table_init(&c->stacks);
	rc = load(c, options, err);
	if (!rc)
		set_hashes(c, true);
	if (!rc)
		rc = open_mappings(c, err);
	if (rc) {
		collect_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

/* As of another process that sampling may begin to see: one that is added too early is no loss. */
static int collect_add_pid(void *self, uint32_t pid)
{
	const struct collect *c = self;
	const uint8_t one = 1;

	return bpf_map_update_elem(bpf_map__fd(c->skel->maps.pids), &pid, &one, 0);
}

static int collect_find_text(void *self, uint64_t *ret_text, uint64_t *ret_etext)
{
	const struct collect *c = self;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = bpf_program__fd(c->skel->progs.sampler_find_text);

	if (fd < 0 || bpf_prog_test_run_opts(fd, &opts) || opts.retval)
		return -ENOENT;
	*ret_text = c->skel->bss->kernel_text;
	*ret_etext = c->skel->bss->kernel_etext;
	return 0;
}

static const char *collect_event(const void *self)
{
	const struct collect *c = self;

	return perf_event_name(c->event);
}

static int start_cpu(struct collect *c, size_t cpu, struct err *err)
{
	struct perf_event_attr attr;
	int fd;

	perf_attr_sampling(&attr, c->event, c->period_ns);
	fd = perf_open(&attr, -1, (int)cpu, -1);
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
	.has_kernel = true,
	.event = collect_event,
	.add_pid = collect_add_pid,
	.find_text = collect_find_text,
	.open = collect_open,
	.start = collect_start,
	.poll = collect_poll,
	.wait_fd = collect_wait_fd,
	.stop = collect_stop,
	.stats = collect_stats,
	.close = collect_close,
};
