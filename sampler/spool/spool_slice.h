/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SLICE_H
#define RAWSTACK_SPOOL_SLICE_H
/*
 * A batch that is being built: samples, and copies of the rows of a segment's tables that they
 * need, with new numbers. Internal to the spool library. One thread uses it at a time.
 */
#include "intern.h"
#include "spool_late.h"
#include "spool_tables.h"

struct spool_slice {
	const struct spool_tables *from;
	const struct spool_late *late; /* late names; NULL: not wanted */
	const uint8_t *boot_id;        /* of the segment; set if `late` is */
	struct spool_rows rows[SPOOL_TABLE_COUNT], samples;
	struct spool_rows
		maps[SPOOL_TABLE_COUNT];        /* row of the segment -> index + 1, 0: not in it */
	uint32_t damaged_stack, damaged_string; /* index + 1 */
	size_t frame_count;                     /* of stacks, except the late ones below */
	/* Stacks and locations that late names add are counted apart, because where a batch ends
	 * must not depend on it. */
	struct intern late_stack_keys, late_location_keys;
	struct spool_rows late_stack_rows, late_location_rows; /* uint32_t */
	size_t late_frames, late_locations, late_strings;
	struct arena memory;
};

/* Initialises an empty slice; `from` must outlive it. */
void spool_slice_init(struct spool_slice *s, const struct spool_tables *from);
void spool_slice_done(struct spool_slice *s);

/* Gives late names to the frames of samples added from now on. boot_id is that of the samples'
 * segment. Both must outlive the slice. */
void spool_slice_name(struct spool_slice *s, const struct spool_late *late, const uint8_t *boot_id);

/* Empties the slice, for a batch from the same tables or from others. */
void spool_slice_begin(struct spool_slice *s);

/* Call it when the tables have grown. Returns 0 or ERR_MEMORY. */
int spool_slice_grow(struct spool_slice *s, struct err *err);

/* Returns whether one more sample might not fit under max_samples or the limits of a batch. */
bool spool_slice_is_full(const struct spool_slice *s, size_t max_samples);

/* Adds a sample whose thread and stack are indexes of the segment. Returns 0 or ERR_MEMORY. */
int spool_slice_add(struct spool_slice *s, const struct spool_sample *sample, struct err *err);

/* Fills the arrays of a batch, which are borrowed until the next begin. */
void spool_slice_end(const struct spool_slice *s, struct spool_batch *ret);

#endif
