/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_EVENT_RING_BPF_H
#define RAWSTACK_EVENT_RING_BPF_H
/*
 * The writer's side of the ring of a CPU (sample_ring.h is the reader's). Only programs on that CPU
 * write, one at a time. An event is written where the head is, and published by moving the head.
 *
 * The including file has defined `ring_len` and likely(), and includes sampler_event.h and
 * user_walk.bpf.h.
 */

/* Returns whether the ring has room for all that a tick may write. */
static __always_inline bool ring_has_room(struct percpu_state *row)
{
	if (likely(row->head - row->tail_seen <= ring_len - SAMPLER_EVENT_MAX))
		return true;
	row->tail_seen = *(volatile uint64_t *)&row->tail;
	return row->head - row->tail_seen <= ring_len - SAMPLER_EVENT_MAX;
}

/* Returns where the next event is written. */
static __always_inline void *next_event(const struct percpu_state *row, char *ring)
{
	return ring + (row->head & (ring_len - 1) & ~7U);
}

/* Moves the head past the event, so that the sampler may read it. */
static void publish_event(struct percpu_state *row, uint64_t len)
{
	const uint64_t head = row->head + ((len + 7) & ~7ULL);

	if (is_x86()) { /* x86 does not reorder stores */
		__asm__ volatile("" ::: "memory");
		*(volatile uint64_t *)&row->head = head;
	} else {
		__sync_lock_test_and_set(&row->head, head);
	}
}

#endif
