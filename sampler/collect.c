/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend over BPF: on every CPU a clock event that runs the program of sampler.bpf.c, and an
 * event that reports mappings. This is what it does while it runs; collect_open.c is how it begins.
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

	c->stopped_ns = io_system()->mono_ns(NULL);
	for (size_t i = 0; i < c->cpu_count; i++) {
		bpf_link__destroy(c->cpus[i].link);
		c->cpus[i].link = NULL;
	}
}

void collect_close(void *self)
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

/* --- stacks that are sent once --------------------------------------------------------------- */

void collect_set_hashes(struct collect *c, bool are_wanted)
{
	uint64_t start = 0;

	if (are_wanted && getrandom(&start, sizeof(start), GRND_NONBLOCK) != (ssize_t)sizeof(start))
		start = 0;
	for (size_t i = 0; i < c->shared.count; i++)
		__atomic_store_n(&c->shared.rows[i].hash_start, start, __ATOMIC_RELAXED);
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

/* --- samples and hints ----------------------------------------------------------------------- */

_Static_assert(offsetof(struct sampler_hint, flags) == offsetof(struct sampler_event, flags),
	       "they tell one from the other");

static bool is_hint(const uint8_t *p, uint64_t len)
{
	const size_t off = offsetof(struct sampler_hint, flags);
	uint32_t flags;

	if (len < off + sizeof(flags))
		return false;
	memcpy(&flags, p + off, sizeof(flags));
	return flags & SAMPLER_HINT;
}

/* As take_event(). */
static size_t take_hint(struct collect *c, const uint8_t *p, uint64_t len)
{
	struct event_hint rows[SAMPLER_HINT_ROWS];
	struct sampler_hint in;
	struct event e;
	size_t used;

	memcpy(&in, p, len < sizeof(in) ? len : sizeof(in));
	used = offsetof(struct sampler_hint, rows) + in.count * sizeof(in.rows[0]);
	if (in.count > ARRAY_LEN(in.rows) || used > len)
		return 0;
	for (uint32_t i = 0; i < in.count; i++) {
		rows[i].pc = in.rows[i].pc;
		rows[i].file_off = in.rows[i].file_off;
		rows[i].len = in.rows[i].len;
		memcpy(rows[i].id, in.rows[i].id, sizeof(rows[i].id));
	}
	e = (struct event){
		.time_ns = in.time_ns - 1, /* known when its sample is placed */
		.pid = in.pid,
		.tid = in.tid,
		.kind = EVENT_HINT,
		.hint = {in.start_ns, in.namespaces},
		.data = rows,
		.data_len = in.count * sizeof(rows[0]),
	};
	/* No loss when there is no room: it is asked for later. */
	events_add(c->events, &e);
	return used;
}

/* The event at p, of at most len bytes; returns how many it has, 0: that is none, which cannot be.
 */
static size_t take_event(struct collect *c, const uint8_t *p, uint64_t len)
{
	const size_t head_len = offsetof(struct sampler_event, pcs);
	struct sampler_event in;
	struct event e;
	size_t used;

	if (is_hint(p, len))
		return take_hint(c, p, len);
	if (len < head_len)
		return 0;
	memcpy(&in, p, head_len);
	used = head_len;
	if (!(in.flags & SAMPLER_STACK_SENT))
		used += ((size_t)in.kernel_len + in.user_len + 7) / 8 * 8;
	if (used > len)
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
	take_stack(c, &in, p + head_len, &e);
	in.comm[SAMPLER_COMM_LEN - 1] = 0;
	memcpy(e.sample.comm, in.comm, strlen(in.comm));
	if (!events_add(c->events, &e))
		c->refused++;
	return used;
}

static void take_ring(struct collect *c, struct sampler_row *row, const uint8_t *ring)
{
	const uint64_t head = __atomic_load_n(&row->head, __ATOMIC_ACQUIRE);
	uint64_t tail = row->tail;

	while (tail != head) {
		size_t used = take_event(c, ring + (tail & (c->shared.ring_len - 1)), head - tail);

		/* What is behind something that is no event, which cannot be, is not told apart:
		 * a loss of one at least. */
		c->refused += !used;
		tail = used ? tail + used : head;
	}
	__atomic_store_n(&row->tail, tail, __ATOMIC_RELEASE);
}

static int collect_wait_fd(const void *self)
{
	return ((const struct collect *)self)->wait_fd;
}

/* A row may be written just now: the time of a tick before it is counted, and read behind that. */
static void poll_ticks(struct collect *c)
{
	if (!c->ticks.count)
		return;
	for (size_t i = 0; i < c->shared.count; i++) {
		const volatile struct sampler_counters *n = &c->shared.rows[i].counts;

		c->seen[i].last_ns = n->last_ns;
		c->seen[i].first_ns = n->first_ns;
		c->seen[i].runs = n->runs;
		c->seen[i].idle = n->idle;
	}
	ticks_poll(&c->ticks, c->seen, c->stopped_ns ? c->stopped_ns : io_system()->mono_ns(NULL),
		   c->stopped_ns);
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
	for (size_t i = 0; i < c->shared.count; i++)
		take_ring(c, &c->shared.rows[i], c->shared.rings + i * c->shared.ring_stride);
	poll_ticks(c);
	was = c->stacks.state;
	is_fresh = stack_table_poll(&c->stacks);
	if (is_fresh || c->stacks.state != was)
		collect_set_hashes(c, is_fresh);
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
	for (size_t i = 0; i < c->shared.count; i++) {
		const struct sampler_counters n = c->shared.rows[i].counts;

		ret->runs += n.runs;
		ret->stored += n.stored;
		ret->idle += n.idle;
		ret->filtered += n.filtered;
		ret->ring_full += n.ring_full;
		ret->stack_fault += n.stack_fault;
	}
	if (c->skel->bss)
		ret->perf_lost += c->skel->bss->children_missed;
	ret->stack_fault += c->stacks.unknown;
	ret->missed = c->ticks.missed;
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
