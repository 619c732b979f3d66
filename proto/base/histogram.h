/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HISTOGRAM_H
#define RAWSTACK_HISTOGRAM_H
/*
 * Counts how long things took, in buckets that all histograms share. Adding costs a short search
 * and two atomic additions. Safe from any thread; all zero bytes are an empty histogram.
 */
#include <stdatomic.h>

#include "base.h"

enum {
	HISTOGRAM_BOUNDS = 20,
	HISTOGRAM_BUCKETS = HISTOGRAM_BOUNDS + 1 /* the last one is for all that took longer */
};

struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_BUCKETS];
	_Atomic uint64_t sum_ns;
};

/* The upper bounds, in nanoseconds and as OpenMetrics writes them in seconds: from a tenth of a
 * millisecond, a lookup, to half an hour, the longest build. A bound belongs to its bucket. */
extern const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS];
extern const char *const histogram_bound_texts[HISTOGRAM_BOUNDS];

void histogram_add(struct histogram *h, uint64_t ns);

/* Adds the time from begin_ns, of io_mono_ns(), to now. */
void histogram_add_since(struct histogram *h, uint64_t begin_ns);

#endif
