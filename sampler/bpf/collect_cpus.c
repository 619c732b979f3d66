/* SPDX-License-Identifier: Apache-2.0 */
/* Handles CPUs that go and come while the backend over BPF runs. */
#include "collect_priv.h"
#include "io.h"
#include "log.h"

void collect_stop_cpu(struct collect *c, size_t cpu)
{
	struct cpu *at = &c->cpus[cpu];

	for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
		if (!at->links[i])
			continue;
		bpf_link__destroy(TAKE_PTR(at->links[i]));
		at->clock_fds[i] = -1; /* the link closed it */
	}
}

void collect_close_cpu(struct collect *c, size_t cpu)
{
	collect_stop_cpu(c, cpu);
	perf_ring_unmap(&c->cpus[cpu].mapping);
	closep(&c->cpus[cpu].mapping_fd);
	c->cpus[cpu].mapping_fd = -1;
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
		closep(&c->cpus[cpu].clock_fds[i]);
		c->cpus[cpu].clock_fds[i] = -1;
	}
}

/* Begins to count a CPU's ticks anew. It has none now, so the program does not touch its row. */
static void begin_ticks(struct collect *c, size_t cpu, bool is_dark)
{
	const struct ticks_seen seen = collect_seen(c, cpu);

	ticks_begin_cpu(&c->ticks, cpu, &seen, is_dark, io_mono_ns());
	c->shared.rows[cpu].counts.first_ns = c->shared.rows[cpu].counts.last_ns = 0;
}

static int collect_watched_fd(const void *self, size_t cpu)
{
	return ((const struct collect *)self)->cpus[cpu].mapping_fd;
}

static uint64_t collect_watched_heard(const void *self, size_t cpu)
{
	const struct collect *c = self;

	return collect_seen(c, cpu).runs + perf_ring_heard(&c->cpus[cpu].mapping);
}

static void collect_watched_close(void *self, size_t cpu)
{
	collect_close_cpu(self, cpu);
}

static int collect_watched_open(void *self, size_t cpu, struct err *err)
{
	struct collect *c = self;
	int rc = collect_open_cpu(c, cpu, err);

	if (rc || c->cpus[cpu].mapping_fd < 0 || !c->is_started)
		return rc;
	begin_ticks(c, cpu, false);
	return collect_start_cpu(c, cpu, err);
}

static void collect_watched_refuse(void *self, size_t cpu, const struct err *why)
{
	log_warn("CPU %zu came up and is not sampled; what it would have had is counted as missed, "
		 "until the sampler is started again: %s",
		 cpu, why->message);
	begin_ticks(self, cpu, true);
}

static const struct cpu_watch_ops ops = {
	.fd = collect_watched_fd,
	.heard = collect_watched_heard,
	.close = collect_watched_close,
	.open = collect_watched_open,
	.refuse = collect_watched_refuse,
};

void collect_watch(struct collect *c, struct events *events)
{
	const uint64_t now = io_mono_ns();
	const struct event lost = {.kind = EVENT_LOST, .time_ns = now};

	/* Mappings made on the CPU before it was opened were not reported; EVENT_LOST has them read
	 * from /proc. */
	if (cpu_watch_poll(&c->watch, &ops, c, now))
		events_add(events, &lost);
}
