/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLE_RING_H
#define RAWSTACK_SAMPLE_RING_H
/*
 * Reads the ring of a CPU, which the BPF program fills (sampler_event.h), into events for the
 * queue. Most samples hold only a time and the hash of a stack that was sent before; their thread
 * is that of an earlier sample, which is kept here. A ring is for one thread.
 */
#include "events.h"
#include "sent_stacks.h"

struct sample_ring {
	uint32_t cpu;
	/* The last sample as it was queued. The next one copies from it what it does not bring. */
	struct event sample;
	bool has_sample;
	uint64_t refused; /* samples that the queue did not take, or that are invalid */
};

/*
 * Adds the events between two positions to the queue; an event ends at `to`. ring has len bytes, a
 * power of two, and SAMPLER_EVENT_MAX behind them. After the call the ring is not referred to.
 *
 * Invalid content is counted as refused and never used: bytes that are no event, which count as one
 * together with all that follows them, and a sample before any thread was sent. A sample whose
 * stack was never sent is kept without a stack (`unknown` of the table). If the queue has no room
 * for a hint, the build ids are looked up later.
 */
void sample_ring_take(struct sample_ring *r, const uint8_t *ring, size_t len, uint64_t from,
		      uint64_t to, struct sent_stacks *stacks, struct events *events);

#endif
