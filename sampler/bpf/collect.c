/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend over BPF. It has clock events on every CPU, which run the program of sampler.bpf.c,
 * and an event that reports mappings. This file polls and closes it; collect_open.c opens it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "collect_priv.h"
#include "io.h"

void collect_stop(void *self)
{
	struct collect *c = self;

	c->stopped_ns = io_mono_ns();
	for (size_t i = 0; i < c->cpu_count; i++)
		collect_stop_cpu(c, i);
}

void collect_close(void *self)
{
	struct collect *c = self;

	if (!c)
		return;
	collect_stop(c);
	for (size_t i = 0; i < c->cpu_count; i++)
		collect_close_cpu(c, i);
	cpu_watch_done(&c->watch);
	sent_stacks_done(&c->stacks);
	ticks_done(&c->ticks);
	free(c->seen);
	closep(&c->wait_fd);
	free(c->cpus);
	bpf_link__destroy(c->fork_link);
	bpf_link__destroy(c->exit_link);
	if (c->shared.rows)
		munmap(c->shared.rows, c->shared.rows_mapped);
	if (c->shared.rings)
		munmap((void *)(uintptr_t)c->shared.rings, c->shared.rings_mapped);
	sampler__destroy(c->skel);
	free(c);
}

void collect_set_hashes(struct collect *c, bool are_wanted)
{
	uint64_t start = 0;

	if (are_wanted && getrandom(&start, sizeof(start), GRND_NONBLOCK) != (ssize_t)sizeof(start))
		start = 0;
	for (size_t i = 0; i < c->shared.count; i++)
		__atomic_store_n(&c->shared.rows[i].hash_start, start, __ATOMIC_RELAXED);
}

static void take_ring(struct collect *c, size_t cpu, struct events *events)
{
	struct percpu_state *row = &c->shared.rows[cpu];
	const uint64_t head = __atomic_load_n(&row->head, __ATOMIC_ACQUIRE);

	sample_ring_take(&c->cpus[cpu].samples, c->shared.rings + cpu * c->shared.ring_stride,
			 c->shared.ring_len, row->tail, head, &c->stacks, events);
	__atomic_store_n(&row->tail, head, __ATOMIC_RELEASE);
}

static int collect_wait_fd(const void *self)
{
	return ((const struct collect *)self)->wait_fd;
}

/* The program may be writing the row meanwhile: it stores the time of a tick before it counts the
 * tick, and the reads here have the same order. */
struct ticks_seen collect_seen(const struct collect *c, size_t cpu)
{
	const volatile struct sampler_counters *n = &c->shared.rows[cpu].counts;
	struct ticks_seen ret;

	ret.last_ns = n->last_ns;
	ret.first_ns = n->first_ns;
	ret.runs = n->runs;
	ret.idle = n->idle;
	return ret;
}

static void poll_ticks(struct collect *c)
{
	if (!c->ticks.count)
		return;
	for (size_t i = 0; i < c->shared.count; i++) {
		c->seen[i] = collect_seen(c, i);
		c->seen[i].due =
			tick_pair_due(&c->cpus[i].pair, c->seen[i].first_ns, c->seen[i].last_ns);
	}
	ticks_poll(&c->ticks, c->seen, c->stopped_ns ? c->stopped_ns : io_mono_ns(), c->stopped_ns);
}

static void collect_rest(void *self)
{
	struct collect *c = self;
	const uint64_t now = io_mono_ns();

	for (size_t i = 0; i < c->cpu_count; i++)
		if (c->cpus[i].links[TICK_PAIR_COUNT - 1] &&
		    tick_pair_is_old(&c->cpus[i].pair, now))
			tick_pair_turn(&c->cpus[i].pair, c->cpus[i].clock_fds);
}

static void collect_poll(void *self, struct events *events)
{
	struct collect *c = self;
	enum sent_stacks_state was;
	bool is_fresh;

	for (size_t i = 0; i < c->cpu_count; i++)
		if (c->cpus[i].mapping.base)
			perf_ring_drain(&c->cpus[i].mapping, events, &c->counts);
	for (size_t i = 0; i < c->shared.count; i++)
		take_ring(c, i, events);
	if (!c->stopped_ns)
		collect_watch(c, events);
	poll_ticks(c);
	was = c->stacks.state;
	is_fresh = sent_stacks_poll(&c->stacks);
	if (is_fresh || c->stacks.state != was)
		collect_set_hashes(c, is_fresh);
}

/* Sums the counts of all CPUs. Rows are written while they are read, so each number is a recent
 * one, but two need not fit together. */
static void collect_stats(void *self, struct backend_stats *ret)
{
	const struct collect *c = self;

	*ret = (struct backend_stats){
		.perf_lost = c->counts.lost,
		.throttled = c->counts.throttled,
	};
	for (size_t i = 0; i < c->shared.count; i++) {
		const struct sampler_counters n = c->shared.rows[i].counts;
		const uint64_t refused = c->cpus[i].samples.refused;

		ret->runs += n.runs;
		ret->stored += n.stored - refused;
		ret->idle += n.idle;
		ret->filtered += n.filtered;
		ret->ring_full += n.ring_full + refused;
		ret->stack_fault += n.stack_fault;
	}
	if (c->skel->bss)
		ret->perf_lost += c->skel->bss->children_missed;
	ret->stack_fault += c->stacks.unknown;
	ret->missed = c->ticks.missed;
}

/* Adds a process to the set of those to sample. Returns 0 or a negative errno. */
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

const struct backend backend_bpf = {
	.name = "bpf",
	.has_kernel = true,
	.event = collect_event,
	.add_pid = collect_add_pid,
	.find_text = collect_find_text,
	.open = collect_open,
	.start = collect_start,
	.poll = collect_poll,
	.rest = collect_rest,
	.wait_fd = collect_wait_fd,
	.stop = collect_stop,
	.stats = collect_stats,
	.close = collect_close,
};
