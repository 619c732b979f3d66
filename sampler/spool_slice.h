/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SLICE_H
#define RAWSTACK_SPOOL_SLICE_H
/*
 * A batch in the making: samples, and copies of those rows of a segment's tables that they need,
 * numbered anew. Internal to the spool library. One thread at a time.
 */
#include "spool_tables.h"

struct spool_slice {
	const struct spool_tables *from;
	struct spool_rows rows[SPOOL_TABLE_COUNT], samples;
	struct spool_rows
		maps[SPOOL_TABLE_COUNT];        /* row of the segment -> index + 1, 0: not in it */
	uint32_t damaged_stack, damaged_string; /* index + 1 */
	size_t frame_count;                     /* of stacks */
	struct arena memory;
};

/* Zeroed memory but for `from`, which must outlive it. */
void spool_slice_init(struct spool_slice *s, const struct spool_tables *from);
void spool_slice_done(struct spool_slice *s);

/* Empties it, for a batch from the same tables or from others. */
void spool_slice_begin(struct spool_slice *s);

/* To be called when the tables have grown. ERR_MEMORY. */
int spool_slice_grow(struct spool_slice *s, struct err *err);

/* Whether one more sample might not fit under max_samples or the limits of a batch. */
bool spool_slice_is_full(const struct spool_slice *s, size_t max_samples);

/* Adds a sample, whose thread and stack are of the segment. ERR_MEMORY. */
int spool_slice_add(struct spool_slice *s, const struct spool_sample *sample, struct err *err);

/* Fills the arrays of a batch, which are borrowed until the next begin. */
void spool_slice_end(const struct spool_slice *s, struct spool_batch *ret);

#endif
