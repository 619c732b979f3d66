/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "arena.h"
#include "bytes.h"
#include "spool_segment.h"

/* Frames take four bytes in memory and at least one in the file; strings their own length. */
#define TABLES_MAX (8 * LIMIT_SPOOL_SEGMENT)

static const char damaged_name[] = "[spool: damaged]";

/* An array that grows; count elements of one type. */
struct rows {
	void *p;
	size_t count, cap;
};

/* Entries that damage took: strings have no p, modules and locations this kind, stacks this count,
 * threads are zeros. */
enum {
	KIND_MISSING = 0xff
};
#define COUNT_MISSING UINT32_MAX

enum table_kind {
	TABLE_STRINGS,
	TABLE_MODULES,
	TABLE_LOCATIONS,
	TABLE_STACKS,
	TABLE_THREADS,
	TABLE_COUNT,
};

static const size_t row_sizes[TABLE_COUNT] = {
	[TABLE_STRINGS] = sizeof(struct spool_string),
	[TABLE_MODULES] = sizeof(struct spool_module),
	[TABLE_LOCATIONS] = sizeof(struct location),
	[TABLE_STACKS] = sizeof(struct spool_stack),
	[TABLE_THREADS] = sizeof(struct spool_thread),
};

/* Bytes of the shortest entry. */
static const uint8_t entry_min[TABLE_COUNT] = {
	[TABLE_STRINGS] = 1, [TABLE_MODULES] = 4, [TABLE_LOCATIONS] = 6,
	[TABLE_STACKS] = 2,  [TABLE_THREADS] = 6,
};

struct spool_reader {
	const struct io *io;
	int dir_fd;
	uint64_t damaged_len;              /* of the segments that were left behind */
	bool only_looks;                   /* does not wait for writes that are not whole */
	uint64_t ack_segment, ack_place;   /* where rewind goes */
	uint64_t next_segment, next_place; /* the end of the last batch that was returned */

	uint64_t segment; /* the one being read; with no fd: read the next one above it */
	uint64_t place;   /* in it, the end of the last sample taken */
	int fd;
	struct spool_segment_info info;
	struct spool_cursor cursor;
	struct rows tables[TABLE_COUNT]; /* of the segment, as far as it was read */
	struct arena memory;             /* what the tables point to */
	uint64_t losses[SPOOL_LOSS_COUNT];

	/* The SAMPLES record being handed out; borrowed from the cursor. */
	bool in_record;
	struct bytes record;
	uint32_t record_off, record_count, record_taken;
	uint64_t record_time_ns;

	/* The batch, and where each row of the segment's tables went in it: index + 1, 0 nowhere.
	 */
	struct rows batch[TABLE_COUNT], samples;
	struct rows maps[TABLE_COUNT];
	uint32_t damaged_stack, damaged_string; /* index + 1 in the batch */
	struct arena batch_memory;
	uint64_t damaged_before; /* cursor.damaged_len when the batch began */
};

static void *row_new(struct rows *r, size_t size)
{
	if (!grow_array(&r->p, &r->cap, r->count + 1, size, UINT32_MAX - 1))
		return NULL;
	return memset((char *)r->p + r->count++ * size, 0, size);
}

/* --- reading a segment's tables -------------------------------------------------------------- */

static uint32_t get_ref(struct bytes *in, const struct rows *table)
{
	uint64_t v = bytes_uleb(in);

	return v == 0 || v > table->count ? LOCATION_NO_INDEX : (uint32_t)v - 1;
}

static uint32_t get_u32(struct bytes *in)
{
	uint64_t v = bytes_uleb(in);

	if (v > UINT32_MAX)
		bytes_fail(in);
	return (uint32_t)v;
}

static void get_string(struct spool_reader *r, struct bytes *in, struct spool_string *ret)
{
	uint64_t len = bytes_uleb(in);
	const uint8_t *p;

	if (len > LIMIT_PATH_LEN)
		bytes_fail(in);
	p = bytes_take(in, len);
	if (in->failed)
		return;
	ret->p = arena_copy(&r->memory, p, len);
	ret->len = ret->p ? (uint32_t)len : 0;
}

static void get_module(struct spool_reader *r, struct bytes *in, struct spool_module *ret)
{
	uint8_t flags = bytes_u8(in), kind = bytes_u8(in), len = bytes_u8(in);
	const uint8_t *p;

	if (len > BUILD_ID_MAX)
		bytes_fail(in);
	p = bytes_take(in, len);
	ret->path = get_ref(in, &r->tables[TABLE_STRINGS]);
	if (in->failed)
		return;
	ret->is_kernel = flags & SPOOL_MODULE_KERNEL;
	ret->id.kind = BUILD_ID_NONE;
	if (len && kind != BUILD_ID_NONE &&
	    build_id_set(&ret->id, (enum build_id_kind)kind, p, len, NULL))
		ret->id = (struct build_id){.kind = BUILD_ID_NONE};
}

static void get_location(struct spool_reader *r, struct bytes *in, struct location *ret)
{
	struct location l = {
		.kind = bytes_u8(in),
		.mode = bytes_u8(in),
		.reason = bytes_u8(in),
	};
	const struct spool_module *m;

	l.module = get_ref(in, &r->tables[TABLE_MODULES]);
	l.address = bytes_uleb(in);
	l.name = get_ref(in, &r->tables[TABLE_STRINGS]);
	if (in->failed || l.kind == KIND_MISSING)
		return;
	m = l.module == LOCATION_NO_INDEX
		    ? NULL
		    : (const struct spool_module *)r->tables[TABLE_MODULES].p + l.module;
	if (m && m->id.kind == KIND_MISSING)
		m = NULL;
	if (!m)
		l.module = LOCATION_NO_INDEX;
	if (!m && (l.kind == LOCATION_FILE_OFF || l.kind == LOCATION_KERNEL_TEXT ||
		   l.kind == LOCATION_KERNEL_MODULE)) {
		l.kind = LOCATION_UNRESOLVED;
		l.reason = UNRESOLVED_NO_ID;
	}
	*ret = l;
}

static void get_stack(struct spool_reader *r, struct bytes *in, struct spool_stack *ret)
{
	const struct rows *table = &r->tables[TABLE_LOCATIONS];
	uint32_t flags = get_u32(in), count = get_u32(in), *to;
	bool whole = true;

	if (count > LIMIT_STACK_FRAMES)
		bytes_fail(in);
	if (in->failed)
		return;
	to = arena_array(&r->memory, count ? count : 1, sizeof(*to));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = get_u32(in);

		if (index >= table->count ||
		    ((const struct location *)table->p)[index].kind == KIND_MISSING)
			whole = false;
		else if (to)
			to[i] = index;
	}
	if (!in->failed && to && whole)
		*ret = (struct spool_stack){to, count, flags};
}

static void get_thread(struct spool_reader *r, struct bytes *in, struct spool_thread *ret)
{
	struct spool_thread t = {.pid = get_u32(in), .tid = get_u32(in)};

	t.start_ns = bytes_uleb(in);
	t.comm = get_ref(in, &r->tables[TABLE_STRINGS]);
	t.exe = get_ref(in, &r->tables[TABLE_STRINGS]);
	t.cgroup_id = bytes_uleb(in);
	if (!in->failed)
		*ret = t;
}

static void *missing_row(struct rows *table, enum table_kind kind)
{
	void *row = row_new(table, row_sizes[kind]);

	if (!row)
		return NULL;
	switch (kind) {
	case TABLE_MODULES:
		*(struct spool_module *)row = (struct spool_module){
			.id.kind = KIND_MISSING,
			.path = LOCATION_NO_INDEX,
		};
		break;
	case TABLE_LOCATIONS:
		((struct location *)row)->kind = KIND_MISSING;
		break;
	case TABLE_STACKS:
		((struct spool_stack *)row)->count = COUNT_MISSING;
		break;
	case TABLE_THREADS:
		*(struct spool_thread *)row = (struct spool_thread){
			.comm = LOCATION_NO_INDEX,
			.exe = LOCATION_NO_INDEX,
		};
		break;
	default:
		break;
	}
	return row;
}

/* Entries that cannot be are left as missing: the checksum was right, so the writer was wrong. */
static int read_table(struct spool_reader *r, enum table_kind kind, struct bytes in,
		      struct err *err)
{
	struct rows *table = &r->tables[kind];
	uint32_t first = bytes_u32(&in), count = bytes_u32(&in);

	/* Every entry took some bytes, those lost to damage too: so memory is bounded by the file,
	 * whatever the numbers say. */
	if (in.failed || count > in.left / entry_min[kind] || first < table->count ||
	    first - table->count > r->cursor.damaged_len / entry_min[kind]) {
		r->cursor.damaged_len += in.left;
		return 0;
	}
	while (table->count < first + (size_t)count) {
		bool is_read = table->count >= first;
		void *row = missing_row(table, kind);

		if (!row)
			return err_set(err, ERR_MEMORY, "out of memory for a spool segment");
		if (!is_read || in.failed)
			continue;
		switch (kind) {
		case TABLE_STRINGS:
			get_string(r, &in, row);
			break;
		case TABLE_MODULES:
			get_module(r, &in, row);
			break;
		case TABLE_LOCATIONS:
			get_location(r, &in, row);
			break;
		case TABLE_STACKS:
			get_stack(r, &in, row);
			break;
		default:
			get_thread(r, &in, row);
			break;
		}
	}
	return 0;
}

static void read_losses(struct spool_reader *r, struct bytes in)
{
	uint32_t count = bytes_u32(&in);

	bytes_skip(&in, 4);
	while (count-- && !in.failed) {
		uint32_t loss = bytes_u32(&in);
		uint64_t cumulative;

		bytes_skip(&in, 4);
		cumulative = bytes_u64(&in);
		if (!in.failed && loss < SPOOL_LOSS_COUNT)
			r->losses[loss] = cumulative;
	}
}

static void begin_samples(struct spool_reader *r, const struct spool_record *rec)
{
	uint32_t skip = 0;

	r->record = bytes_of(rec->payload, rec->len);
	r->record_off = rec->off;
	r->record_time_ns = bytes_u64(&r->record);
	r->record_count = bytes_u32(&r->record);
	bytes_skip(&r->record, 4);
	r->record_taken = 0;
	r->in_record = true;
	if (rec->off < spool_place_off(r->place))
		skip = r->record_count;
	else if (rec->off == spool_place_off(r->place))
		skip = spool_place_samples(r->place);
	if (skip >= r->record_count) {
		r->in_record = false;
		return;
	}
	for (; skip; skip--, r->record_taken++) {
		for (int i = 0; i < 4; i++)
			bytes_uleb(&r->record);
		r->record_time_ns += (uint64_t)bytes_sleb(&r->record);
	}
}

/* --- the batch ------------------------------------------------------------------------------- */

static uint32_t *map_slot(struct spool_reader *r, enum table_kind kind, uint32_t index)
{
	return (uint32_t *)r->maps[kind].p + index;
}

/* A copy of a row in the batch; *ret_index is where. NULL without memory. */
static void *batch_row(struct spool_reader *r, enum table_kind kind, const void *from,
		       uint32_t *slot)
{
	void *row = row_new(&r->batch[kind], row_sizes[kind]);

	if (!row)
		return NULL;
	memcpy(row, from, row_sizes[kind]);
	*slot = (uint32_t)r->batch[kind].count;
	return row;
}

/* Each batch_*() gives the batch's index of a row of the segment, LOCATION_NO_INDEX for none and
 * without memory. */
static uint32_t batch_string(struct spool_reader *r, uint32_t index)
{
	const struct spool_string *from = r->tables[TABLE_STRINGS].p;
	uint32_t *slot;

	if (index == LOCATION_NO_INDEX || !from[index].p)
		return LOCATION_NO_INDEX;
	slot = map_slot(r, TABLE_STRINGS, index);
	if (!*slot)
		batch_row(r, TABLE_STRINGS, &from[index], slot);
	return *slot - 1;
}

static uint32_t batch_module(struct spool_reader *r, uint32_t index)
{
	const struct spool_module *from = r->tables[TABLE_MODULES].p;
	struct spool_module m;
	uint32_t *slot;

	if (index == LOCATION_NO_INDEX)
		return LOCATION_NO_INDEX;
	slot = map_slot(r, TABLE_MODULES, index);
	if (!*slot) {
		m = from[index];
		m.path = batch_string(r, m.path);
		batch_row(r, TABLE_MODULES, &m, slot);
	}
	return *slot - 1;
}

static uint32_t batch_location(struct spool_reader *r, uint32_t index)
{
	const struct location *from = r->tables[TABLE_LOCATIONS].p;
	uint32_t *slot = map_slot(r, TABLE_LOCATIONS, index);
	struct location l;

	if (!*slot) {
		l = from[index];
		l.module = batch_module(r, l.module);
		l.name = batch_string(r, l.name);
		batch_row(r, TABLE_LOCATIONS, &l, slot);
	}
	return *slot - 1;
}

static uint32_t damaged_stack(struct spool_reader *r)
{
	const struct spool_string name = {damaged_name, sizeof(damaged_name) - 1};
	struct location l = {
		.kind = LOCATION_HOST_NAMED,
		.reason = HOST_SOURCE_PSEUDO,
		.module = LOCATION_NO_INDEX,
	};
	uint32_t *frames, location;

	if (r->damaged_stack)
		return r->damaged_stack - 1;
	frames = arena_array(&r->batch_memory, 1, sizeof(*frames));
	if (!frames || !batch_row(r, TABLE_STRINGS, &name, &r->damaged_string))
		return LOCATION_NO_INDEX;
	l.name = r->damaged_string - 1;
	if (!batch_row(r, TABLE_LOCATIONS, &l, &location))
		return LOCATION_NO_INDEX;
	frames[0] = location - 1;
	batch_row(r, TABLE_STACKS, &(struct spool_stack){frames, 1, SPOOL_STACK_NO_USER},
		  &r->damaged_stack);
	return r->damaged_stack - 1;
}

static uint32_t batch_stack(struct spool_reader *r, uint32_t index)
{
	const struct spool_stack *from = r->tables[TABLE_STACKS].p;
	uint32_t *slot, *frames;

	if (index >= r->tables[TABLE_STACKS].count || from[index].count == COUNT_MISSING)
		return damaged_stack(r);
	slot = map_slot(r, TABLE_STACKS, index);
	if (!*slot) {
		const uint32_t count = from[index].count;

		frames = arena_array(&r->batch_memory, count ? count : 1, sizeof(*frames));
		if (!frames)
			return LOCATION_NO_INDEX;
		for (uint32_t i = 0; i < count; i++) {
			frames[i] = batch_location(r, from[index].locations[i]);
			if (frames[i] == LOCATION_NO_INDEX)
				return LOCATION_NO_INDEX;
		}
		batch_row(r, TABLE_STACKS, &(struct spool_stack){frames, count, from[index].flags},
			  slot);
	}
	return *slot - 1;
}

static uint32_t batch_thread(struct spool_reader *r, uint32_t index)
{
	const struct spool_thread *from = r->tables[TABLE_THREADS].p;
	struct spool_thread t = {.comm = LOCATION_NO_INDEX, .exe = LOCATION_NO_INDEX};
	uint32_t unknown = 0, *slot = &unknown;

	if (index < r->tables[TABLE_THREADS].count) {
		slot = map_slot(r, TABLE_THREADS, index);
		t = from[index];
	}
	if (!*slot) {
		t.comm = batch_string(r, t.comm);
		t.exe = batch_string(r, t.exe);
		batch_row(r, TABLE_THREADS, &t, slot);
	}
	return *slot - 1;
}

static void begin_batch(struct spool_reader *r)
{
	for (int i = 0; i < TABLE_COUNT; i++) {
		r->batch[i].count = 0;
		r->maps[i].count = 0;
	}
	r->samples.count = 0;
	r->damaged_stack = r->damaged_string = 0;
	arena_reset(&r->batch_memory);
	r->damaged_before = r->cursor.damaged_len;
}

/* Tables grow while a batch is made; new rows are in no batch yet. */
static int grow_maps(struct spool_reader *r, struct err *err)
{
	for (int i = 0; i < TABLE_COUNT; i++) {
		struct rows *map = &r->maps[i];
		size_t count = r->tables[i].count;

		if (!grow_array(&map->p, &map->cap, count, sizeof(uint32_t), UINT32_MAX))
			return err_set(err, ERR_MEMORY, "out of memory for a spool batch");
		if (count > map->count)
			memset((uint32_t *)map->p + map->count, 0,
			       (count - map->count) * sizeof(uint32_t));
		map->count = count;
	}
	return 0;
}

static bool batch_is_full(const struct spool_reader *r, size_t max_samples)
{
	return r->samples.count >= max_samples ||
	       r->batch[TABLE_LOCATIONS].count + LIMIT_STACK_FRAMES > LIMIT_BATCH_LOCATIONS ||
	       r->batch[TABLE_MODULES].count + LIMIT_STACK_FRAMES > LIMIT_BATCH_MODULES ||
	       r->batch[TABLE_STRINGS].count + 2 * LIMIT_STACK_FRAMES + 3 > LIMIT_BATCH_STRINGS;
}

/* Moves samples of the current record into the batch, until either ends. */
static int take_samples(struct spool_reader *r, size_t max_samples, struct err *err)
{
	while (r->record_taken < r->record_count && !batch_is_full(r, max_samples)) {
		struct spool_sample s, *row;

		s.thread = get_u32(&r->record);
		s.stack = get_u32(&r->record);
		s.cpu = get_u32(&r->record);
		s.weight = get_u32(&r->record);
		r->record_time_ns += (uint64_t)bytes_sleb(&r->record);
		if (r->record.failed || !s.weight) {
			r->cursor.damaged_len += r->record.left;
			r->record_taken = r->record_count;
			break;
		}
		r->record_taken++;
		s.time_ns = r->record_time_ns;
		s.thread = batch_thread(r, s.thread);
		s.stack = batch_stack(r, s.stack);
		row = s.thread == LOCATION_NO_INDEX || s.stack == LOCATION_NO_INDEX
			      ? NULL
			      : row_new(&r->samples, sizeof(*row));
		if (!row)
			return err_set(err, ERR_MEMORY, "out of memory for a spool batch");
		*row = s;
	}
	if (r->record_taken == r->record_count)
		r->in_record = false;
	return 0;
}

static void end_batch(struct spool_reader *r, uint64_t from_place, struct spool_batch *ret)
{
	*ret = (struct spool_batch){
		.origin = r->info.origin,
		.strings = r->batch[TABLE_STRINGS].p,
		.modules = r->batch[TABLE_MODULES].p,
		.locations = r->batch[TABLE_LOCATIONS].p,
		.stacks = r->batch[TABLE_STACKS].p,
		.threads = r->batch[TABLE_THREADS].p,
		.samples = r->samples.p,
		.string_count = r->batch[TABLE_STRINGS].count,
		.module_count = r->batch[TABLE_MODULES].count,
		.location_count = r->batch[TABLE_LOCATIONS].count,
		.stack_count = r->batch[TABLE_STACKS].count,
		.thread_count = r->batch[TABLE_THREADS].count,
		.sample_count = r->samples.count,
		.damaged_len = r->cursor.damaged_len - r->damaged_before,
		.segment = r->segment,
		.end_offset = r->place,
	};
	memcpy(ret->losses, r->losses, sizeof(ret->losses));
	memcpy(ret->id, r->info.origin.host_id, 16);
	memcpy(ret->id + 16, r->info.origin.boot_id, 16);
	/* Big-endian, so that ids of one boot sort in order. */
	for (int i = 0; i < 8; i++) {
		ret->id[32 + i] = (uint8_t)(r->segment >> (56 - 8 * i));
		ret->id[40 + i] = (uint8_t)(from_place >> (56 - 8 * i));
	}
}

/* --- from segment to segment ----------------------------------------------------------------- */

static void close_segment(struct spool_reader *r)
{
	if (r->fd < 0)
		return;
	r->damaged_len += r->cursor.damaged_len;
	spool_cursor_done(&r->cursor);
	r->io->close(r->io->ctx, r->fd);
	r->fd = -1;
	r->in_record = false;
}

/* 1 open, 0 it is gone or no segment at all; r->segment is it then, so that the search goes on
 * behind it. */
static int open_segment(struct spool_reader *r, uint64_t number, uint64_t place, struct err *err)
{
	char name[SPOOL_NAME_MAX];
	int rc, fd;

	fd = r->io->open(r->io->ctx, r->dir_fd, spool_segment_name(number, name),
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd == -ENOENT) {
		r->segment = number;
		return 0;
	}
	if (fd < 0)
		return err_sys(err, -fd, "%s", name);
	rc = spool_header_read(r->io, fd, &r->info, err);
	if (rc || r->info.segment != number) {
		r->io->close(r->io->ctx, fd);
		if (rc && rc != ERR_DATA)
			return err_prefix(err, "%s", name);
		/* At least its header is damaged; what behind it would be is not known. */
		r->damaged_len += SPOOL_HEADER_LEN;
		r->segment = number;
		return 0;
	}
	r->segment = number;
	r->fd = fd;
	r->place = place ? place : r->info.records_off;
	spool_cursor_init(&r->cursor, r->io, fd, r->info.records_off);
	for (int i = 0; i < TABLE_COUNT; i++)
		r->tables[i].count = 0;
	arena_reset(&r->memory);
	memset(r->losses, 0, sizeof(r->losses));
	return 1;
}

/* The number of the first segment at or above `from`: 1, or 0 when there is none. */
static int find_segment(struct spool_reader *r, uint64_t from, uint64_t *ret, struct err *err)
{
	struct spool_segments found;
	int rc = spool_segments_list(r->io, r->dir_fd, &found, err);
	size_t i = 0;

	if (rc)
		return rc;
	while (i < found.count && found.numbers[i] < from)
		i++;
	rc = i < found.count;
	if (rc)
		*ret = found.numbers[i];
	free(found.numbers);
	return rc;
}

static int next_in_segment(struct spool_reader *r, bool finished, size_t max_samples,
			   struct spool_batch *ret, struct err *err)
{
	uint64_t from_place = r->place;
	struct spool_record rec;
	int rc = 0;

	begin_batch(r);
	while (!rc && !batch_is_full(r, max_samples)) {
		if (!r->in_record) {
			rc = spool_cursor_next(&r->cursor, finished, &rec, err);
			if (rc <= 0)
				break;
			rc = 0;
			if (rec.type == SPOOL_RECORD_SAMPLES)
				begin_samples(r, &rec);
			else if (rec.type == SPOOL_RECORD_LOSSES)
				read_losses(r, bytes_of(rec.payload, rec.len));
			else if (rec.type >= SPOOL_RECORD_STRINGS &&
				 rec.type <= SPOOL_RECORD_THREADS)
				rc = read_table(r,
						(enum table_kind)(rec.type - SPOOL_RECORD_STRINGS),
						bytes_of(rec.payload, rec.len), err);
			if (rc || !r->in_record)
				continue;
		}
		rc = grow_maps(r, err);
		if (!rc)
			rc = take_samples(r, max_samples, err);
		if (!rc)
			r->place = r->in_record ? spool_place(r->record_off, r->record_taken)
						: r->cursor.off;
	}
	if (rc < 0) {
		/* What this batch took is not lost: the segment is read again next time. */
		close_segment(r);
		r->segment--;
		return rc;
	}
	if (!r->samples.count)
		return 0;
	end_batch(r, from_place, ret);
	r->next_segment = r->segment;
	r->next_place = r->place;
	return 1;
}

int spool_reader_next(struct spool_reader *r, size_t max_samples, struct spool_batch *ret,
		      struct err *err)
{
	uint64_t next = 0;
	int rc;

	if (!max_samples)
		return err_set(err, ERR_USAGE, "a batch has at least one sample");
	for (;;) {
		/* Looked for before reading: if there is one, nobody adds to the current any
		 * more, and its end is the end. */
		rc = find_segment(r, r->segment + 1, &next, err);
		if (rc < 0)
			return rc;
		if (r->fd >= 0) {
			bool finished = rc == 1;

			rc = next_in_segment(r, finished || r->only_looks, max_samples, ret, err);
			if (rc || !finished)
				return rc;
			close_segment(r);
		}
		if (rc == 0 && r->fd < 0) {
			rc = find_segment(r, r->segment + 1, &next, err);
			if (rc <= 0)
				return rc;
		}
		rc = open_segment(r, next, next == r->next_segment ? r->next_place : 0, err);
		if (rc < 0)
			return rc;
	}
}

/* --- the public rest ------------------------------------------------------------------------- */

int spool_reader_open(struct spool_reader **ret, const char *dir, const struct io *io,
		      struct err *err)
{
	struct spool_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, ERR_MEMORY, "out of memory for the spool");
	r->io = io ? io : io_system();
	r->fd = -1;
	r->memory = (struct arena)ARENA_INIT(TABLES_MAX);
	r->batch_memory = (struct arena)ARENA_INIT(TABLES_MAX);
	r->dir_fd = r->io->open(r->io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (r->dir_fd < 0) {
		rc = err_sys(err, -r->dir_fd, "%s", dir);
		spool_reader_close(r);
		return rc;
	}
	rc = spool_ack_read(r->io, r->dir_fd, &r->ack_segment, &r->ack_place, err);
	if (rc) {
		spool_reader_close(r);
		return rc;
	}
	spool_reader_rewind(r);
	*ret = r;
	return 0;
}

int spool_reader_ack(struct spool_reader *r, const struct spool_batch *batch, struct err *err)
{
	int rc = spool_ack_write(r->io, r->dir_fd, batch->segment, batch->end_offset, err);

	if (rc)
		return err_prefix(err, "acknowledgement of the spool");
	r->ack_segment = batch->segment;
	r->ack_place = batch->end_offset;
	return 0;
}

void spool_reader_rewind(struct spool_reader *r)
{
	close_segment(r);
	r->only_looks = false;
	r->damaged_len = 0;
	r->segment = r->ack_segment ? r->ack_segment - 1 : 0;
	r->next_segment = r->ack_segment;
	r->next_place = r->ack_place;
}

void spool_reader_from_start(struct spool_reader *r)
{
	close_segment(r);
	r->segment = r->next_segment = r->next_place = 0;
	r->only_looks = true;
	r->damaged_len = 0;
}

uint64_t spool_reader_damaged_len(const struct spool_reader *r)
{
	return r->damaged_len + (r->fd >= 0 ? r->cursor.damaged_len : 0);
}

void spool_reader_close(struct spool_reader *r)
{
	if (!r)
		return;
	close_segment(r);
	for (int i = 0; i < TABLE_COUNT; i++) {
		free(r->tables[i].p);
		free(r->batch[i].p);
		free(r->maps[i].p);
	}
	free(r->samples.p);
	arena_done(&r->memory);
	arena_done(&r->batch_memory);
	if (r->dir_fd >= 0)
		r->io->close(r->io->ctx, r->dir_fd);
	free(r);
}
