/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_slice.h"

#include <string.h>

/* Bytes of a batch in memory: a copy of rows of the segment's tables (LIMIT_SPOOL_TABLES_LEN). */
#define LIMIT_SPOOL_SLICE_LEN (8 * LIMIT_SPOOL_SEGMENT)

/* The most that late names may add to a batch, a quarter of what it may hold; and the most records
 * of one process that are tried for a sample: two readings of its map, in parts. */
#define LATE_FRAMES    (LIMIT_BATCH_FRAMES / 4)
#define LATE_LOCATIONS (LIMIT_BATCH_LOCATIONS / 4)
#define LATE_STACKS    LIMIT(65536)
#define LATE_KEYS_LEN  (8 * MIB)
#define LATE_RECORDS   128

static const char damaged_name[] = "[spool: damaged]";

void spool_slice_init(struct spool_slice *s, const struct spool_tables *from)
{
	*s = (struct spool_slice){
		.from = from,
		.memory = ARENA_INIT(LIMIT_SPOOL_SLICE_LEN),
		.late_stack_keys = INTERN_INIT(LATE_STACKS, LATE_KEYS_LEN),
		.late_location_keys = INTERN_INIT(LATE_LOCATIONS, LATE_KEYS_LEN),
	};
}

void spool_slice_done(struct spool_slice *s)
{
	for (int i = 0; i < SPOOL_TABLE_COUNT; i++) {
		free(s->rows[i].p);
		free(s->maps[i].p);
	}
	free(s->samples.p);
	intern_done(&s->late_stack_keys);
	intern_done(&s->late_location_keys);
	free(s->late_stack_rows.p);
	free(s->late_location_rows.p);
	arena_done(&s->memory);
}

/* --- rows ------------------------------------------------------------------------------------ */

static uint32_t *map_slot(struct spool_slice *s, enum spool_table_kind kind, uint32_t index)
{
	return (uint32_t *)s->maps[kind].p + index;
}

/* Copies a row into the batch and sets *slot to its index + 1. Returns NULL when out of memory. */
static void *batch_row(struct spool_slice *s, enum spool_table_kind kind, const void *from,
		       uint32_t *slot)
{
	void *row = spool_row_new(&s->rows[kind], spool_row_sizes[kind]);

	if (!row)
		return NULL;
	memcpy(row, from, spool_row_sizes[kind]);
	*slot = (uint32_t)s->rows[kind].count;
	return row;
}

/* Each batch_*() returns the batch's index of a row of the segment, or LOCATION_NO_INDEX for none
 * or when out of memory. */
static uint32_t batch_string(struct spool_slice *s, uint32_t index)
{
	const struct spool_string *from = s->from->rows[SPOOL_TABLE_STRINGS].p;
	uint32_t *slot;

	if (index == LOCATION_NO_INDEX || !from[index].p)
		return LOCATION_NO_INDEX;
	slot = map_slot(s, SPOOL_TABLE_STRINGS, index);
	if (!*slot)
		batch_row(s, SPOOL_TABLE_STRINGS, &from[index], slot);
	return *slot - 1;
}

static uint32_t batch_module(struct spool_slice *s, uint32_t index)
{
	const struct spool_module *from = s->from->rows[SPOOL_TABLE_MODULES].p;
	struct spool_module m;
	uint32_t *slot;

	if (index == LOCATION_NO_INDEX)
		return LOCATION_NO_INDEX;
	slot = map_slot(s, SPOOL_TABLE_MODULES, index);
	if (!*slot) {
		m = from[index];
		m.path = batch_string(s, m.path);
		batch_row(s, SPOOL_TABLE_MODULES, &m, slot);
	}
	return *slot - 1;
}

static uint32_t batch_location(struct spool_slice *s, uint32_t index)
{
	const struct location *from = s->from->rows[SPOOL_TABLE_LOCATIONS].p;
	uint32_t *slot = map_slot(s, SPOOL_TABLE_LOCATIONS, index);
	struct location l;

	if (!*slot) {
		l = from[index];
		l.module = batch_module(s, l.module);
		l.name = batch_string(s, l.name);
		batch_row(s, SPOOL_TABLE_LOCATIONS, &l, slot);
	}
	return *slot - 1;
}

static uint32_t damaged_stack(struct spool_slice *s)
{
	const struct spool_string name = {damaged_name, sizeof(damaged_name) - 1};
	struct location l = {
		.kind = LOCATION_HOST_NAMED,
		.reason = HOST_SOURCE_PSEUDO,
		.module = LOCATION_NO_INDEX,
	};
	uint32_t *frames, location;

	if (s->damaged_stack)
		return s->damaged_stack - 1;
	frames = arena_array(&s->memory, 1, sizeof(*frames));
	if (!frames || !batch_row(s, SPOOL_TABLE_STRINGS, &name, &s->damaged_string))
		return LOCATION_NO_INDEX;
	l.name = s->damaged_string - 1;
	if (!batch_row(s, SPOOL_TABLE_LOCATIONS, &l, &location))
		return LOCATION_NO_INDEX;
	frames[0] = location - 1;
	batch_row(s, SPOOL_TABLE_STACKS, &(struct spool_stack){frames, 1, SPOOL_STACK_NO_USER},
		  &s->damaged_stack);
	return s->damaged_stack - 1;
}

static uint32_t batch_stack(struct spool_slice *s, uint32_t index)
{
	const struct spool_stack *from = s->from->rows[SPOOL_TABLE_STACKS].p;
	uint32_t *slot, *frames;

	if (index >= s->from->rows[SPOOL_TABLE_STACKS].count ||
	    from[index].count == SPOOL_COUNT_MISSING)
		return damaged_stack(s);
	slot = map_slot(s, SPOOL_TABLE_STACKS, index);
	if (!*slot) {
		const uint32_t count = from[index].count;

		frames = arena_array(&s->memory, count ? count : 1, sizeof(*frames));
		if (!frames)
			return LOCATION_NO_INDEX;
		for (uint32_t i = 0; i < count; i++) {
			frames[i] = batch_location(s, from[index].locations[i]);
			if (frames[i] == LOCATION_NO_INDEX)
				return LOCATION_NO_INDEX;
		}
		batch_row(s, SPOOL_TABLE_STACKS,
			  &(struct spool_stack){frames, count, from[index].flags}, slot);
		s->frame_count += count;
	}
	return *slot - 1;
}

static uint32_t batch_thread(struct spool_slice *s, uint32_t index)
{
	const struct spool_thread *from = s->from->rows[SPOOL_TABLE_THREADS].p;
	struct spool_thread t = SPOOL_THREAD_INIT;
	uint32_t unknown = 0, *slot = &unknown;

	if (index < s->from->rows[SPOOL_TABLE_THREADS].count) {
		slot = map_slot(s, SPOOL_TABLE_THREADS, index);
		t = from[index];
	}
	if (!*slot) {
		t.comm = batch_string(s, t.comm);
		t.exe = batch_string(s, t.exe);
		t.cgroup = batch_string(s, t.cgroup);
		t.container = batch_string(s, t.container);
		t.service = batch_string(s, t.service);
		t.labels = batch_string(s, t.labels);
		batch_row(s, SPOOL_TABLE_THREADS, &t, slot);
	}
	return *slot - 1;
}

/* --- names that became known late ------------------------------------------------------------ */

static bool is_nameless(const struct location *l)
{
	return l->kind == LOCATION_UNRESOLVED && l->reason == UNRESOLVED_ANONYMOUS;
}

/* Makes the location that the capturer writes for code whose name the host knows. */
static uint32_t late_location(struct spool_slice *s, enum location_mode mode,
			      const struct spool_string *name)
{
	uint8_t key[LIMIT_PATH_LEN + 1] = {(uint8_t)mode};
	struct location l = {
		.kind = LOCATION_HOST_NAMED,
		.mode = (uint8_t)mode,
		.reason = HOST_SOURCE_PERF_MAP,
		.module = LOCATION_NO_INDEX,
	};
	struct spool_string text = {.len = name->len};
	uint32_t index, string = 0, *row;
	bool is_new;

	memcpy(key + 1, name->p, name->len);
	index = intern_add(&s->late_location_keys, key, 1 + (size_t)name->len, &is_new);
	if (index == INTERN_FULL)
		return LOCATION_NO_INDEX;
	if (!is_new)
		return index < s->late_location_rows.count
			       ? *((uint32_t *)s->late_location_rows.p + index) - 1
			       : LOCATION_NO_INDEX;
	row = spool_row_new(&s->late_location_rows, sizeof(*row));
	text.p = arena_copy(&s->memory, name->p, name->len);
	if (!row || !text.p || !batch_row(s, SPOOL_TABLE_STRINGS, &text, &string))
		return LOCATION_NO_INDEX;
	s->late_strings++;
	l.name = string - 1;
	s->late_locations += batch_row(s, SPOOL_TABLE_LOCATIONS, &l, row) != NULL;
	return *row - 1;
}

/* Gives late names to the frames that have none; returns whether it found any. */
static bool name_frames(struct spool_slice *s, uint32_t *frames, uint32_t count,
			const uint32_t *records, size_t record_count)
{
	bool is_named = false;

	for (uint32_t i = 0; i < count; i++) {
		const struct location *l =
			(const struct location *)s->rows[SPOOL_TABLE_LOCATIONS].p + frames[i];
		const enum location_mode mode = (enum location_mode)l->mode;
		struct spool_string name;
		uint32_t location;

		/* A return address is behind the call. */
		if (!is_nameless(l) ||
		    !spool_late_find(s->late, records, record_count,
				     l->address - (mode == LOCATION_RETURN && l->address), &name))
			continue;
		location = late_location(s, mode, &name);
		if (location == LOCATION_NO_INDEX)
			continue;
		frames[i] = location;
		is_named = true;
	}
	return is_named;
}

/* Copies a stack of the batch with late names; returns the stack itself where there is none. */
static uint32_t new_late_stack(struct spool_slice *s, uint32_t stack, const uint32_t *records,
			       size_t record_count)
{
	const struct spool_stack *from =
		(const struct spool_stack *)s->rows[SPOOL_TABLE_STACKS].p + stack;
	struct spool_stack copy = *from;
	uint32_t *frames, slot = 0;

	if (s->late_frames + copy.count > LATE_FRAMES)
		return stack;
	frames = arena_array(&s->memory, copy.count ? copy.count : 1, sizeof(*frames));
	if (!frames)
		return stack;
	memcpy(frames, copy.locations, copy.count * sizeof(*frames));
	if (!name_frames(s, frames, copy.count, records, record_count))
		return stack;
	copy.locations = frames;
	if (!batch_row(s, SPOOL_TABLE_STACKS, &copy, &slot))
		return stack;
	s->late_frames += copy.count;
	return slot - 1;
}

/* Returns the stack of a sample with its late names, a row of the batch. */
static uint32_t late_stack(struct spool_slice *s, const struct spool_sample *sample, uint32_t stack)
{
	const struct spool_rows *threads = &s->from->rows[SPOOL_TABLE_THREADS];
	uint32_t key[1 + LATE_RECORDS] = {stack}, index, *row;
	size_t count;
	bool is_new;

	if (!s->late || sample->thread >= threads->count)
		return stack;
	count = spool_late_match(s->late, s->boot_id,
				 (const struct spool_thread *)threads->p + sample->thread,
				 sample->time_ns, key + 1, LATE_RECORDS);
	if (!count)
		return stack;
	index = intern_add(&s->late_stack_keys, key, (1 + count) * sizeof(*key), &is_new);
	if (index == INTERN_FULL)
		return stack;
	if (!is_new)
		return index < s->late_stack_rows.count
			       ? *((uint32_t *)s->late_stack_rows.p + index)
			       : stack;
	row = spool_row_new(&s->late_stack_rows, sizeof(*row));
	if (!row)
		return LOCATION_NO_INDEX;
	*row = stack;
	*row = new_late_stack(s, stack, key + 1, count);
	return *row;
}

/* --- the slice ------------------------------------------------------------------------------- */

void spool_slice_name(struct spool_slice *s, const struct spool_late *late, const uint8_t *boot_id)
{
	s->late = late;
	s->boot_id = boot_id;
}

void spool_slice_begin(struct spool_slice *s)
{
	for (int i = 0; i < SPOOL_TABLE_COUNT; i++) {
		s->rows[i].count = 0;
		s->maps[i].count = 0;
	}
	s->samples.count = 0;
	s->damaged_stack = s->damaged_string = 0;
	s->frame_count = s->late_frames = s->late_strings = s->late_locations = 0;
	intern_reset(&s->late_stack_keys);
	intern_reset(&s->late_location_keys);
	s->late_stack_rows.count = s->late_location_rows.count = 0;
	arena_reset(&s->memory);
}

/* Tables grow while a batch is made; new rows are in no batch yet. */
int spool_slice_grow(struct spool_slice *s, struct err *err)
{
	for (int i = 0; i < SPOOL_TABLE_COUNT; i++) {
		struct spool_rows *map = &s->maps[i];
		size_t count = s->from->rows[i].count;

		if (!grow_memory(&map->p, &map->cap, count, sizeof(uint32_t), UINT32_MAX))
			return err_no_memory(err);
		if (count > map->count)
			memset((uint32_t *)map->p + map->count, 0,
			       (count - map->count) * sizeof(uint32_t));
		map->count = count;
	}
	return 0;
}

bool spool_slice_is_full(const struct spool_slice *s, size_t max_samples)
{
	const struct spool_rows *rows = s->rows;
	/* The batch ends at the same sample when it is read again and more names are known. */
	const size_t locations = rows[SPOOL_TABLE_LOCATIONS].count - s->late_locations;
	const size_t strings = rows[SPOOL_TABLE_STRINGS].count - s->late_strings;

	return s->samples.count >= max_samples ||
	       s->frame_count + LIMIT_STACK_FRAMES > LIMIT_BATCH_FRAMES ||
	       locations + LIMIT_STACK_FRAMES > LIMIT_BATCH_LOCATIONS ||
	       rows[SPOOL_TABLE_MODULES].count + LIMIT_STACK_FRAMES > LIMIT_BATCH_MODULES ||
	       strings + 2 * LIMIT_STACK_FRAMES + 3 > LIMIT_BATCH_STRINGS;
}

int spool_slice_add(struct spool_slice *s, const struct spool_sample *sample, struct err *err)
{
	struct spool_sample to = *sample, *row;

	to.thread = batch_thread(s, sample->thread);
	to.stack = batch_stack(s, sample->stack);
	if (to.stack != LOCATION_NO_INDEX)
		to.stack = late_stack(s, sample, to.stack);
	row = to.thread == LOCATION_NO_INDEX || to.stack == LOCATION_NO_INDEX
		      ? NULL
		      : spool_row_new(&s->samples, sizeof(*row));
	if (!row)
		return err_no_memory(err);
	*row = to;
	return 0;
}

/* Segments of a file may be stored after the samples of their module. */
static void fill_file_segments(const struct spool_slice *s)
{
	const struct spool_module *from = s->from->rows[SPOOL_TABLE_MODULES].p;
	const uint32_t *map = s->maps[SPOOL_TABLE_MODULES].p;
	struct spool_module *to = s->rows[SPOOL_TABLE_MODULES].p;

	for (size_t i = 0; i < s->maps[SPOOL_TABLE_MODULES].count; i++) {
		if (!map[i])
			continue;
		to[map[i] - 1].segments = from[i].segments;
		to[map[i] - 1].segment_count = from[i].segment_count;
	}
}

void spool_slice_end(const struct spool_slice *s, struct spool_batch *ret)
{
	fill_file_segments(s);
	ret->strings = s->rows[SPOOL_TABLE_STRINGS].p;
	ret->modules = s->rows[SPOOL_TABLE_MODULES].p;
	ret->locations = s->rows[SPOOL_TABLE_LOCATIONS].p;
	ret->stacks = s->rows[SPOOL_TABLE_STACKS].p;
	ret->threads = s->rows[SPOOL_TABLE_THREADS].p;
	ret->samples = s->samples.p;
	ret->string_count = s->rows[SPOOL_TABLE_STRINGS].count;
	ret->module_count = s->rows[SPOOL_TABLE_MODULES].count;
	ret->location_count = s->rows[SPOOL_TABLE_LOCATIONS].count;
	ret->stack_count = s->rows[SPOOL_TABLE_STACKS].count;
	ret->thread_count = s->rows[SPOOL_TABLE_THREADS].count;
	ret->sample_count = s->samples.count;
}
