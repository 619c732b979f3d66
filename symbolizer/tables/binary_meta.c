/* SPDX-License-Identifier: Apache-2.0 */
#include "binary_meta.h"

#include <stdio.h>
#include <string.h>

enum {
	OTHER_REASON_LEN = 128
};

static void *allocate_in_arena(void *data, size_t len)
{
	return arena_alloc(data, len ? len : 1);
}

static void release_in_arena(void *data _unused_, void *p _unused_)
{
}

Rawstack__V1__ModuleStatus binary_meta_status(enum store_status status)
{
	switch (status) {
	case STORE_READY:
		return RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY;
	case STORE_FAILED:
		return RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_FAILED;
	case STORE_OTHER:
		return RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_UNSUPPORTED;
	case STORE_DAMAGED:
		return RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_DAMAGED;
	default:
		return RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_PURGED;
	}
}

static void other_reason(const struct store_binary *b, char *to, size_t len)
{
	snprintf(to, len,
		 "its table is of format %u, which this service does not read: upload it again",
		 b->other_format);
}

Rawstack__V1__Binary *binary_meta_message(const struct store_binary *b, struct arena *arena)
{
	ProtobufCAllocator allocator = {allocate_in_arena, release_in_arena, arena};
	Rawstack__V1__Binary *m = rawstack__v1__binary__unpack(&allocator, b->meta_len, b->meta);

	if (!m) {
		m = arena_alloc(arena, sizeof(*m));
		if (!m)
			return NULL;
		rawstack__v1__binary__init(m);
	}
	m->build_id.data = (uint8_t *)arena_copy(arena, b->id.bytes, b->id.len);
	if (!m->build_id.data)
		return NULL;
	m->build_id.len = b->id.len;
	m->id_kind = b->id.kind;
	m->status = binary_meta_status(b->status);
	m->pinned = b->pinned;
	m->used_unix_ns = b->used_ns;
	m->other_table_bytes = b->other_len;
	if (b->status == STORE_OTHER) {
		char *reason = arena_alloc(arena, OTHER_REASON_LEN);

		if (!reason)
			return NULL;
		other_reason(b, reason, OTHER_REASON_LEN);
		m->reason = binary_meta_text(reason);
	}
	if (b->status == STORE_DAMAGED)
		m->reason = binary_meta_text("its record in the store is damaged");
	return m;
}

void binary_meta_reason(const struct store_binary *b, char *to, size_t len)
{
	Rawstack__V1__Binary *m = NULL;

	to[0] = 0;
	if (b->status == STORE_OTHER)
		other_reason(b, to, len);
	else
		m = rawstack__v1__binary__unpack(NULL, b->meta_len, b->meta);

	if (!m)
		return;
	snprintf(to, len, "%.*s", (int)m->reason.len, (const char *)m->reason.data);
	rawstack__v1__binary__free_unpacked(m, NULL);
}

void binary_meta_report(Rawstack__V1__BuildReport *to, const struct build_report *build,
			uint64_t input_len, uint64_t generation, ProtobufCBinaryData *skipped)
{
	rawstack__v1__build_report__init(to);
	to->units = build->unit_count;
	to->units_skipped = build->units_skipped;
	to->functions = build->function_count;
	to->ranges = build->range_count;
	to->inline_nodes = build->inline_count;
	to->symbols = build->symbol_count;
	to->files = build->file_count;
	to->has_dwarf = build->has_dwarf;
	to->has_segments = build->has_segments;
	to->table_bytes = build->table_len;
	to->input_bytes = input_len;
	to->wall_ns = build->wall_ns;
	to->cpu_ns = build->cpu_ns;
	to->peak_memory_bytes = build->peak_memory;
	to->generation = generation;
	if (build->skipped[0]) {
		*skipped = binary_meta_text(build->skipped);
		to->skipped = skipped;
		to->n_skipped = 1;
	}
}
