/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_ring.h"

#include <errno.h>
#include <string.h>

#include "sampler_event.h"

/* Finds the stack of a sample, which came with it or with an earlier one. */
static void take_stack(struct sent_stacks *stacks, const struct sampler_event *in, size_t len,
		       struct event *e)
{
	const struct sent_stack *row = NULL;

	e->data = in->pcs;
	e->data_len = len;
	e->is_lasting = false;
	e->sample.kernel_count = in->kernel_len / 8;
	e->sample.user_count = in->user_len / 8;
	e->sample.kernel_err = (int16_t)-in->kernel_err;
	e->sample.user_err = (int16_t)-in->user_err;
	e->sample.stack_id = 0;
	if (in->flags & SAMPLER_STACK_SENT) {
		row = sent_stacks_find(stacks, in->stack_hash);
		if (!row || row->len != len) {
			/* This never happens. */
			stacks->unknown++;
			e->data_len = 0;
			e->sample.kernel_count = e->sample.user_count = 0;
			e->sample.kernel_err = e->sample.user_err = -ENOENT;
			return;
		}
	} else if (in->stack_hash) {
		row = sent_stacks_add(stacks, in->stack_hash, in->pcs, len);
	}
	if (!row)
		return;
	e->data = row->pcs;
	e->is_lasting = true;
	e->sample.stack_id = row->hash;
}

static void take_thread(struct sample_ring *r, const struct sampler_thread *in)
{
	const uint32_t flags = in->flags;

	r->has_sample = true;
	r->sample = (struct event){
		.pid = in->pid,
		.tid = in->tid,
		.kind = EVENT_SAMPLE,
		.sample =
			{
				.start_ns = in->start_ns,
				.cgroup_id = in->cgroup_id,
				.cpu = r->cpu,
				.flags =
					(flags & SAMPLER_KERNEL_THREAD ? SAMPLE_KERNEL_THREAD : 0) |
					(flags & SAMPLER_EXITING ? SAMPLE_EXITING : 0),
				.syscall = in->syscall,
				.state = in->state,
			},
	};
	memcpy(r->sample.sample.comm, in->comm, strnlen(in->comm, EVENT_COMM_LEN - 1));
}

/* Adds the hint of the sample just taken. If the queue is full, the hint is dropped, which loses
 * nothing, because the sampler reads the build ids itself later. */
static void take_ring_hint(const struct sample_ring *r, const struct sampler_hint *in,
			   struct events *events)
{
	struct event_hint rows[SAMPLER_HINT_ROWS];
	struct event e = {
		.time_ns = r->sample.time_ns - EVENT_HINT_AHEAD_NS,
		.pid = r->sample.pid,
		.tid = r->sample.tid,
		.kind = EVENT_HINT,
		.hint = {r->sample.sample.start_ns, in->namespaces},
		.data = rows,
		.data_len = in->count * sizeof(rows[0]),
	};

	for (uint64_t i = 0; i < in->count; i++) {
		rows[i].pc = in->rows[i].pc;
		rows[i].file_off = in->rows[i].file_off;
		rows[i].len = in->rows[i].len;
		memcpy(rows[i].id, in->rows[i].id, sizeof(rows[i].id));
	}
	events_add(events, &e);
}

/* The parts that an event consists of. */
struct parts {
	const struct sampler_event *sample;
	const struct sampler_thread *thread; /* NULL: that of the sample before */
	const struct sampler_hint *hint;     /* NULL: none */
	size_t stack_len;
};

/* Reads the event at p, of at most len bytes. Returns its length, or 0 if it is not valid. */
static size_t get_parts(struct parts *ret, const uint8_t *p, uint64_t len)
{
	const struct sampler_event *in = (const void *)p;
	size_t used = offsetof(struct sampler_event, pcs);

	if (len < used)
		return 0;
	*ret = (struct parts){.sample = in, .stack_len = (size_t)in->kernel_len + in->user_len};
	if (in->kernel_len % 8 || in->user_len % 8 || ret->stack_len > sizeof(in->pcs))
		return 0;
	if (!(in->flags & SAMPLER_STACK_SENT))
		used += ret->stack_len;
	if (in->flags & SAMPLER_NEW_THREAD) {
		ret->thread = (const void *)(p + used);
		used += sizeof(*ret->thread);
	}
	if (in->flags & SAMPLER_HINT) {
		ret->hint = (const void *)(p + used);
		used += offsetof(struct sampler_hint, rows);
		if (used > len || ret->hint->count > ARRAY_LEN(ret->hint->rows))
			return 0;
		used += ret->hint->count * sizeof(ret->hint->rows[0]);
	}
	return used > len ? 0 : used;
}

static void take_parts(struct sample_ring *r, const struct parts *in, struct sent_stacks *stacks,
		       struct events *events)
{
	if (in->thread)
		take_thread(r, in->thread);
	r->sample.time_ns = in->sample->time_ns;
	/* The program counts the stack as sent, so it is kept even if the sample is refused. */
	take_stack(stacks, in->sample, in->stack_len, &r->sample);
	if (r->has_sample && events_add(events, &r->sample))
		r->sample.is_same_thread = true;
	else
		r->refused++;
	if (r->has_sample && in->hint)
		take_ring_hint(r, in->hint, events);
}

void sample_ring_take(struct sample_ring *r, const uint8_t *ring, size_t len, uint64_t from,
		      uint64_t to, struct sent_stacks *stacks, struct events *events)
{
	while (from != to) {
		struct parts in;
		const size_t used = get_parts(&in, ring + (from & (len - 1)), to - from);

		if (used) {
			take_parts(r, &in, stacks, events);
		} else {
			r->refused++;
			r->has_sample = false;
		}
		from = used ? from + used : to;
	}
}
