/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_tables.h"

#include <string.h>

/* Bytes of a segment's tables in memory: a frame takes four there and at least one in the file, a
 * string its own length. */
#define LIMIT_SPOOL_TABLES_LEN (8 * LIMIT_SPOOL_SEGMENT)

const size_t spool_row_sizes[SPOOL_TABLE_COUNT] = {
	[SPOOL_TABLE_STRINGS] = sizeof(struct spool_string),
	[SPOOL_TABLE_MODULES] = sizeof(struct spool_module),
	[SPOOL_TABLE_LOCATIONS] = sizeof(struct location),
	[SPOOL_TABLE_STACKS] = sizeof(struct spool_stack),
	[SPOOL_TABLE_THREADS] = sizeof(struct spool_thread),
};

/* Bytes of the shortest entry. */
static const uint8_t entry_min[SPOOL_TABLE_COUNT] = {
	[SPOOL_TABLE_STRINGS] = 1, [SPOOL_TABLE_MODULES] = 4,  [SPOOL_TABLE_LOCATIONS] = 6,
	[SPOOL_TABLE_STACKS] = 2,  [SPOOL_TABLE_THREADS] = 11,
};

void *spool_row_new(struct spool_rows *r, size_t size)
{
	if (!grow_memory(&r->p, &r->cap, r->count + 1, size, UINT32_MAX - 1))
		return NULL;
	return memset((char *)r->p + r->count++ * size, 0, size);
}

void spool_tables_init(struct spool_tables *t)
{
	*t = (struct spool_tables){.memory = ARENA_INIT(LIMIT_SPOOL_TABLES_LEN)};
}

void spool_tables_reset(struct spool_tables *t)
{
	for (int i = 0; i < SPOOL_TABLE_COUNT; i++)
		t->rows[i].count = 0;
	arena_reset(&t->memory);
}

void spool_tables_done(struct spool_tables *t)
{
	for (int i = 0; i < SPOOL_TABLE_COUNT; i++)
		free(t->rows[i].p);
	arena_done(&t->memory);
}

/* --- entries --------------------------------------------------------------------------------- */

static uint32_t get_ref(struct bytes *in, const struct spool_rows *table)
{
	uint64_t v = bytes_uleb(in);

	return v == 0 || v > table->count ? LOCATION_NO_INDEX : (uint32_t)v - 1;
}

static void get_string(struct spool_tables *t, struct bytes *in, struct spool_string *ret)
{
	uint64_t len = bytes_uleb(in);
	const uint8_t *p;

	if (len > LIMIT_PATH_LEN)
		bytes_fail(in);
	p = bytes_take(in, len);
	if (in->failed)
		return;
	ret->p = arena_copy(&t->memory, p, len);
	ret->len = ret->p ? (uint32_t)len : 0;
}

static void get_module(struct spool_tables *t, struct bytes *in, struct spool_module *ret)
{
	uint8_t flags = bytes_u8(in), kind = bytes_u8(in), len = bytes_u8(in);
	const uint8_t *p;

	if (len > BUILD_ID_MAX)
		bytes_fail(in);
	p = bytes_take(in, len);
	ret->path = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	if (in->failed)
		return;
	ret->is_kernel = flags & SPOOL_MODULE_KERNEL;
	ret->id.kind = BUILD_ID_NONE;
	if (len && kind != BUILD_ID_NONE &&
	    build_id_set(&ret->id, (enum build_id_kind)kind, p, len, NULL))
		ret->id = (struct build_id){.kind = BUILD_ID_NONE};
}

static void get_location(struct spool_tables *t, struct bytes *in, struct location *ret)
{
	struct location l = {
		.kind = bytes_u8(in),
		.mode = bytes_u8(in),
		.reason = bytes_u8(in),
	};
	const struct spool_module *m;

	l.module = get_ref(in, &t->rows[SPOOL_TABLE_MODULES]);
	l.address = bytes_uleb(in);
	l.name = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	if (in->failed || l.kind == SPOOL_KIND_MISSING)
		return;
	m = l.module == LOCATION_NO_INDEX
		    ? NULL
		    : (const struct spool_module *)t->rows[SPOOL_TABLE_MODULES].p + l.module;
	if (m && m->id.kind == SPOOL_KIND_MISSING)
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

static void get_stack(struct spool_tables *t, struct bytes *in, struct spool_stack *ret)
{
	const struct spool_rows *table = &t->rows[SPOOL_TABLE_LOCATIONS];
	uint32_t flags = bytes_uleb32(in), count = bytes_uleb32(in), *to;
	bool whole = true;

	if (count > LIMIT_STACK_FRAMES)
		bytes_fail(in);
	if (in->failed)
		return;
	to = arena_array(&t->memory, count ? count : 1, sizeof(*to));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = bytes_uleb32(in);

		if (index >= table->count ||
		    ((const struct location *)table->p)[index].kind == SPOOL_KIND_MISSING)
			whole = false;
		else if (to)
			to[i] = index;
	}
	if (!in->failed && to && whole)
		*ret = (struct spool_stack){to, count, flags};
}

static void get_thread(struct spool_tables *t, struct bytes *in, struct spool_thread *ret)
{
	struct spool_thread thread = {.pid = bytes_uleb32(in), .tid = bytes_uleb32(in)};

	thread.start_ns = bytes_uleb(in);
	thread.comm = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	thread.exe = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	thread.cgroup_id = bytes_uleb(in);
	thread.state = bytes_uleb32(in);
	thread.cgroup = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	thread.container = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	thread.service = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	thread.labels = get_ref(in, &t->rows[SPOOL_TABLE_STRINGS]);
	if (!in->failed)
		*ret = thread;
}

static void *missing_row(struct spool_rows *table, enum spool_table_kind kind)
{
	void *row = spool_row_new(table, spool_row_sizes[kind]);

	if (!row)
		return NULL;
	switch (kind) {
	case SPOOL_TABLE_MODULES:
		*(struct spool_module *)row = (struct spool_module){
			.id.kind = SPOOL_KIND_MISSING,
			.path = LOCATION_NO_INDEX,
		};
		break;
	case SPOOL_TABLE_LOCATIONS:
		((struct location *)row)->kind = SPOOL_KIND_MISSING;
		break;
	case SPOOL_TABLE_STACKS:
		((struct spool_stack *)row)->count = SPOOL_COUNT_MISSING;
		break;
	case SPOOL_TABLE_THREADS:
		*(struct spool_thread *)row = (struct spool_thread)SPOOL_THREAD_INIT;
		break;
	default:
		break;
	}
	return row;
}

/* Invalid entries are left as missing: the checksum is right, so the writer was wrong. */
int spool_tables_read(struct spool_tables *t, enum spool_table_kind kind, struct bytes in,
		      uint64_t *damaged_len, struct err *err)
{
	struct spool_rows *table = &t->rows[kind];
	uint32_t first = bytes_u32(&in), count = bytes_u32(&in);

	/* Every entry took some bytes, even one lost to damage, so the file bounds the memory,
	 * whatever the numbers say. */
	if (in.failed || count > in.left / entry_min[kind] || first < table->count ||
	    first - table->count > *damaged_len / entry_min[kind]) {
		*damaged_len += in.left;
		return 0;
	}
	while (table->count < first + (size_t)count) {
		bool is_read = table->count >= first;
		void *row = missing_row(table, kind);

		if (!row)
			return err_no_memory(err);
		if (!is_read || in.failed)
			continue;
		switch (kind) {
		case SPOOL_TABLE_STRINGS:
			get_string(t, &in, row);
			break;
		case SPOOL_TABLE_MODULES:
			get_module(t, &in, row);
			break;
		case SPOOL_TABLE_LOCATIONS:
			get_location(t, &in, row);
			break;
		case SPOOL_TABLE_STACKS:
			get_stack(t, &in, row);
			break;
		default:
			get_thread(t, &in, row);
			break;
		}
	}
	return 0;
}

/* A module gets its segments once, so that memory is bounded by the file. */
static void keep_file_segments(struct spool_tables *t, struct spool_module *m,
			       const struct file_segments *from)
{
	struct file_segment *rows;

	if (m->id.kind == SPOOL_KIND_MISSING || m->segment_count || !from->count)
		return;
	rows = arena_array(&t->memory, from->count, sizeof(*rows));
	if (!rows)
		return;
	memcpy(rows, from->rows, from->count * sizeof(*rows));
	m->segments = rows;
	m->segment_count = from->count;
}

void spool_tables_read_file_segments(struct spool_tables *t, struct bytes in)
{
	const struct spool_rows *modules = &t->rows[SPOOL_TABLE_MODULES];
	uint32_t count = bytes_u32(&in);

	bytes_skip(&in, 4);
	while (count-- && !in.failed) {
		const uint64_t module = bytes_uleb(&in);
		struct file_segments segments;

		if (!file_segments_get(&in, &segments) && module < modules->count)
			keep_file_segments(t, (struct spool_module *)modules->p + module,
					   &segments);
	}
}
