/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the backend over BPF: programs, maps and events. Only this part of it needs CAP_BPF and
 * CAP_PERFMON.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "collect_priv.h"
#include "descriptors.h"
#include "io.h"
#include "kernel_types.h"
#include "perf_rights.h"

enum {
	MAPPING_PAGES = 64, /* 256 KiB of ring for each CPU: 1,700 records; polled when half full */
	RING_SECONDS = 4,   /* a ring holds the samples of this time, as a poll may be that late */
	RING_SAMPLE_LEN = 256, /* mean bytes assumed; most are sent as a hash, in 24 or 80 bytes */
	PIDS_MIN = 8192,       /* room for children in the set of processes: 100 bytes each */
	/* Each CPU has a ring, two clocks and their links; the rest took 24 when counted. */
	DESCRIPTORS_EACH = 5,
	DESCRIPTORS_REST = 28,
	RINGS_LEN_MAX = 64 << 20, /* for all CPUs together, unless each ring has the least length */
};

static int drop_libbpf_line(enum libbpf_print_level level _unused_, const char *fmt _unused_,
			    va_list ap _unused_)
{
	return 0;
}

static int collect_denied(struct err *err, int errnum, const char *what)
{
	return perf_rights_refused(err, errnum, PERF_RIGHTS_BPF, what);
}

static uint32_t ring_len(uint32_t hz, size_t cpu_count)
{
	uint64_t want = (uint64_t)hz * RING_SECONDS * RING_SAMPLE_LEN;
	uint32_t len = SAMPLER_RING_MIN;

	while (len < want && (uint64_t)len * 2 * cpu_count <= RINGS_LEN_MAX)
		len *= 2;
	return len;
}

/* Returns how far apart the kernel places the rings, which are the values of an array. */
static uint32_t ring_stride(uint32_t len)
{
	return len + SAMPLER_EVENT_MAX;
}
_Static_assert(SAMPLER_EVENT_MAX % 8 == 0, "arrays are rounded up to that");

static void *map_array(struct bpf_map *map, int access, size_t len)
{
	void *p = mmap(NULL, len, access, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static int map_shared(struct collect *c, const struct backend_options *o, struct err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct shared *s = &c->shared;

	s->ring_len = ring_len(o->hz, c->cpu_count);
	s->ring_stride = ring_stride((uint32_t)s->ring_len);
	s->rows_mapped = (c->cpu_count * sizeof(*s->rows) + page - 1) / page * page;
	s->rings_mapped = (c->cpu_count * s->ring_stride + page - 1) / page * page;
	s->rows = map_array(c->skel->maps.rows, PROT_READ | PROT_WRITE, s->rows_mapped);
	s->rings = map_array(c->skel->maps.rings, PROT_READ, s->rings_mapped);
	if (!s->rows || !s->rings)
		return err_sys(err, errno, "memory of the BPF program");
	s->count = c->cpu_count;
	c->seen = calloc(s->count, sizeof(*c->seen));
	return c->seen ? 0 : err_no_memory(err);
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

/* Returns an in-memory file with the types that the programs need, or -1 if libbpf has to read all
 * types itself. */
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

/* A variant of the load. Variants are tried in order: a program that the kernel rejects fails the
 * whole load, so later ones leave out what is only for speed. */
struct attempt {
	const char *types; /* a file with the kernel's types; NULL: libbpf finds them itself */
	bool find_text, has_loop, own_walk;
};

/* Returns whether addresses have no signature in their upper bits; only the kernel can strip it. */
static bool has_plain_addresses(void)
{
#ifdef __aarch64__
	return !(getauxval(AT_HWCAP) & (HWCAP_PACA | HWCAP_PACG));
#else
	return true;
#endif
}

/* Opens and loads the programs and maps that this run needs. Returns 0 or an error. */
static int load_programs(struct collect *c, const struct backend_options *o,
			 const struct attempt *a, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const bool has_children = o->pid_count && o->with_children;
	int rc;

	sampler__destroy(c->skel);
	opts.btf_custom_path = a->types;
	c->skel = sampler__open_opts(&opts);
	if (!c->skel)
		return collect_denied(err, errno, "opening the BPF program");
	c->skel->rodata->filter = o->pid_count      ? SAMPLER_FILTER_PIDS
				  : o->cgroup_count ? SAMPLER_FILTER_CGROUP
						    : SAMPLER_FILTER_NONE;
	c->skel->rodata->cgroup_count = (uint32_t)o->cgroup_count;
	c->skel->rodata->walk_depth = a->own_walk && has_plain_addresses() ? perf_stack_depth() : 0;
	c->skel->rodata->has_loop = a->has_loop;
	bpf_program__set_autoload(c->skel->progs.sampler_fork, has_children);
	bpf_program__set_autoload(c->skel->progs.sampler_exit, has_children);
	bpf_program__set_autoload(c->skel->progs.sampler_find_text, a->find_text);
	c->skel->rodata->ring_len = ring_len(o->hz, c->cpu_count);
	bpf_map__set_max_entries(c->skel->maps.rows, (uint32_t)c->cpu_count);
	bpf_map__set_max_entries(c->skel->maps.rings, (uint32_t)c->cpu_count);
	bpf_map__set_value_size(c->skel->maps.rings, ring_stride(ring_len(o->hz, c->cpu_count)));
	bpf_map__set_max_entries(c->skel->maps.id_hints, (uint32_t)c->cpu_count);
	if (o->pid_count)
		bpf_map__set_max_entries(c->skel->maps.pids,
					 (uint32_t)o->pid_count + (has_children ? PIDS_MIN : 0));
	rc = sampler__load(c->skel);
	if (rc == -ESRCH)
		return err_set(err, ERR_UNSUPPORTED,
			       "loading the BPF program: the kernel does not tell its types "
			       "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
	return rc ? collect_denied(err, -rc, "loading the BPF program") : 0;
}

static int attach_children(struct collect *c, struct err *err)
{
	c->fork_link = bpf_program__attach(c->skel->progs.sampler_fork);
	if (c->fork_link)
		c->exit_link = bpf_program__attach(c->skel->progs.sampler_exit);
	return c->exit_link ? 0 : collect_denied(err, errno, "watching for children");
}

static int load_skeleton(struct collect *c, const struct backend_options *o, struct err *err)
{
	_cleanup_(closep) int types_fd = open_types();
	char types[32];
	const struct attempt attempts[] = {
		{types, true, true, true},  {NULL, true, true, true},
		{NULL, true, false, true}, /* before Linux 5.17 */
		{NULL, false, false, true}, {NULL, false, false, false},
	};
	int rc = -1;

	libbpf_set_print(drop_libbpf_line);
	snprintf(types, sizeof(types), "/proc/self/fd/%d", types_fd);
	for (size_t i = types_fd < 0 ? 2 : 0; i < ARRAY_LEN(attempts) && rc; i++)
		rc = load_programs(c, o, &attempts[i], err);
	TRY(rc);
	TRY(map_shared(c, o, err));
	TRY(fill_targets(c, o, err));
	return o->pid_count && o->with_children ? attach_children(c, err) : 0;
}

int collect_open_cpu(struct collect *c, size_t cpu, struct err *err)
{
	struct perf_event_attr attr;
	int fd, rc;

	perf_attr_tracking(&attr);
	attr.cgroup = !c->has_no_cgroups;
	fd = perf_open(&attr, -1, (int)cpu, -1);
	if (fd == -EINVAL && attr.cgroup) {
		/* This kernel does not report new cgroups, so the sampler looks for them. */
		c->has_no_cgroups = true;
		attr.cgroup = 0;
		fd = perf_open(&attr, -1, (int)cpu, -1);
	}
	if (fd == -ENODEV) /* the CPU is off */
		return 0;
	if (fd < 0)
		return perf_rights_refused(err, -fd, PERF_RIGHTS_PERF, "watching mappings");
	c->cpus[cpu].mapping_fd = fd;
	TRY(perf_ring_map(&c->cpus[cpu].mapping, fd, MAPPING_PAGES, 8, err));
	rc = perf_ring_watch(&c->wait_fd, fd);
	return rc ? err_sys(err, -rc, "waiting for mappings") : 0;
}

static int open_mappings(struct collect *c, struct err *err)
{
	bool any = false;

	for (size_t i = 0; i < c->cpu_count; i++) {
		TRY(collect_open_cpu(c, i, err));
		any |= c->cpus[i].mapping_fd >= 0;
	}
	return any ? 0 : err_set(err, ERR_IO, "no CPU to sample");
}

/*
 * Opens an event for a CPU's ticks, which does not tick yet. It is opened before capabilities are
 * given up, because kernel.perf_event_paranoid may ask for more of them than sampling keeps.
 */
static int open_clock(struct collect *c, size_t cpu, size_t half, struct err *err)
{
	struct perf_event_attr attr;
	int fd;

	perf_attr_sampling(&attr, c->event,
			   c->event == BACKEND_EVENT_CLOCK
				   ? c->cpus[cpu].pair.halves[half].period_ns
				   : c->period_ns);
	attr.disabled = 1;
	fd = perf_open(&attr, -1, (int)cpu, -1);
	if (fd < 0)
		return perf_rights_refused(err, -fd, PERF_RIGHTS_PERF, "sampling a CPU");
	/* The program keeps samples out of this ring, which gets only THROTTLE records. */
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->cpus[cpu].mapping_fd)) {
		int errnum = errno;

		close(fd);
		return err_sys(err, errnum, "ring of a clock event");
	}
	c->cpus[cpu].clock_fds[half] = fd;
	return 0;
}

static size_t collect_clock_count(const struct collect *c)
{
	return c->event == BACKEND_EVENT_CLOCK ? TICK_PAIR_COUNT : 1;
}

/* Opens the clock events of a CPU unless they are open. Returns 0 or an error. */
static int open_clocks_of(struct collect *c, size_t cpu, struct err *err)
{
	uint64_t random;

	if (c->cpus[cpu].clock_fds[0] >= 0)
		return 0;
	io_system()->random(NULL, &random, sizeof(random));
	tick_pair_init(&c->cpus[cpu].pair, c->period_ns, random);
	for (size_t i = 0; i < collect_clock_count(c); i++)
		TRY(open_clock(c, cpu, i, err));
	return 0;
}

static int open_clocks(struct collect *c, struct err *err)
{
	for (size_t i = 0; i < c->cpu_count; i++)
		if (c->cpus[i].mapping_fd >= 0)
			TRY(open_clocks_of(c, i, err));
	return 0;
}

/* Tries to attach the program to an event that never fires, because it is too late to choose
 * another backend once sampling begins. Returns 0 or an error. */
static int try_attaching(struct collect *c, struct err *err)
{
	struct perf_event_attr attr;
	struct bpf_link *link;
	size_t cpu = 0;
	int fd;

	while (c->cpus[cpu].mapping_fd < 0)
		cpu++;
	perf_attr_tracking(&attr);
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
	fd = perf_open(&attr, -1, (int)cpu, -1);
	if (fd < 0)
		return perf_rights_refused(err, -fd, PERF_RIGHTS_PERF, "an event of a CPU");
	link = bpf_program__attach_perf_event(c->skel->progs.sampler_tick, fd);
	if (!link) {
		int errnum = errno;

		close(fd);
		return collect_denied(err, errnum, "attaching the BPF program");
	}
	bpf_link__destroy(link);
	return 0;
}

/* Opens everything that needs capabilities; collect_close() releases what is open after an error.
 */
static int open_cpus_and_program(struct collect *c, const struct backend_options *options,
				 struct err *err)
{
	const size_t cpu_count = (size_t)get_nprocs_conf();

	c->cpus = calloc(cpu_count, sizeof(*c->cpus));
	if (!c->cpus)
		return err_no_memory(err);
	c->cpu_count = cpu_count;
	for (size_t i = 0; i < c->cpu_count; i++)
		c->cpus[i] = (struct cpu){
			.mapping_fd = -1, .clock_fds = {-1, -1}, .samples.cpu = (uint32_t)i};
	sent_stacks_init(&c->stacks);
	cpu_watch_begin(&c->watch, c->cpu_count);
	TRY(load_skeleton(c, options, err));
	collect_set_hashes(c, true);
	TRY(open_mappings(c, err));
	TRY(open_clocks(c, err));
	return try_attaching(c, err);
}

int collect_open(void **ret, const struct backend_options *options, struct err *err)
{
	struct collect *c;
	int rc;

	TRY(descriptors_check(DESCRIPTORS_EACH, DESCRIPTORS_REST, err));
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_no_memory(err);
	c->wait_fd = -1;
	c->period_ns = 1000000000 / options->hz;
	c->event = perf_choose_event(options->event);
	rc = open_cpus_and_program(c, options, err);
	if (rc)
		collect_close(c);
	else
		*ret = c;
	return rc;
}

int collect_start_cpu(struct collect *c, size_t cpu, struct err *err)
{
	struct cpu *at = &c->cpus[cpu];

	TRY(open_clocks_of(c, cpu, err));
	/* A link enables its event, and owns the descriptor. */
	for (size_t i = 0; i < collect_clock_count(c); i++) {
		at->links[i] = bpf_program__attach_perf_event(c->skel->progs.sampler_tick,
							      at->clock_fds[i]);
		if (!at->links[i])
			return collect_denied(err, errno, "attaching the BPF program");
	}
	tick_pair_begin(&at->pair, io_mono_ns());
	return 0;
}

int collect_start(void *self, struct err *err)
{
	struct collect *c = self;

	if (c->event == BACKEND_EVENT_CLOCK)
		ticks_begin(&c->ticks, c->shared.count, c->period_ns, io_mono_ns());
	for (size_t i = 0; i < c->cpu_count; i++) {
		int rc = c->cpus[i].mapping_fd < 0 ? 0 : collect_start_cpu(c, i, err);

		if (rc)
			return rc;
	}
	c->is_started = true;
	return 0;
}
