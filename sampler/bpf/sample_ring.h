/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLE_RING_H
#define RAWSTACK_SAMPLE_RING_H
/*
 * Reads the ring of a CPU, which the BPF program fills (sampler_event.h), into events for the
 * queue. Most samples hold only a time and the hash of a stack that was sent before; their thread
 * is that of an earlier sample, and is kept here. One thread.
 */
#include "events.h"
#include "sent_stacks.h"

struct sample_ring {
	uint32_t cpu;
	/* The last sample as it was queued; the next one takes over what they have in common. */
	struct event sample;
	bool has_sample;
	uint64_t refused; /* samples that the queue did not take, or that cannot be */
};

/*
 * Adds what stands between two positions to the queue; `to` is behind an event. ring has len bytes,
 * a power of two, and SAMPLER_EVENT_MAX behind them. Nothing there is used any more afterwards.
 *
 * What cannot be is counted and never believed: something that is no event, and all behind it as
 * one; a sample of which nobody said whose it is. One whose stack was not sent keeps its weight
 * (`unknown` of the table). A hint there is no room for is no loss: it is asked for later.
 */
void sample_ring_take(struct sample_ring *r, const uint8_t *ring, size_t len, uint64_t from,
		      uint64_t to, struct sent_stacks *stacks, struct events *events);

#endif
