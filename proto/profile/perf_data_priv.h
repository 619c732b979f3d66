/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_DATA_PRIV_H
#define RAWSTACK_PERF_DATA_PRIV_H
/*
 * Between the parts of the perf.data reader: perf_data.c reads what stands around the events,
 * perf_expand.c undoes perf's compression,
 * perf_records.c puts them in order of time, perf_events.c applies them.
 */
#include "bytes.h"
#include "perf_data.h"
#include "perf_maps.h"
#include "perf_record.h"

/* One kind of event that was recorded (struct perf_event_attr). */
struct perf_attr {
	uint64_t sample_type, read_format, config, period;
	uint32_t type;
	uint32_t name; /* string of the profile; 0: none */
	bool sample_id_all, fixed_period;
};

/* A file, or the kernel, that code was mapped from. */
struct perf_object {
	uint32_t module; /* of the profile, made at the first sample; PROFILE_NONE until then */
};

struct perf_reader {
	struct profile *p;
	struct err *err;
	struct file_view *file;

	struct perf_attr *attrs;
	size_t attr_count, attrs_cap;
	struct intern ids;  /* uint64_t event id -> row of id_attrs */
	uint32_t *id_attrs; /* row -> attr */
	size_t id_attrs_cap;
	bool asked_build_ids; /* mappings may hold build ids */
	bool in_rounds;       /* records come as perf says, so that two rounds wait at most */
	bool clocks;          /* every event counts time: weights are nanoseconds */

	struct perf_maps maps;
	struct intern paths; /* path -> row of path_ids */
	struct build_id_row {
		uint8_t bytes[20];
		uint32_t len;
	} * path_ids; /* build ids that stand apart from the mappings, by path */
	size_t path_ids_cap;
	struct intern objects; /* 20 bytes of id, 1 of length, path -> row of object_rows */
	struct perf_object *object_rows;
	size_t object_rows_cap;
	struct intern tids; /* int32_t tid -> row of comms */
	uint32_t *comms;    /* string of the profile; 0: none */
	size_t comms_cap;

	uint32_t stack[LIMIT_PROFILE_STACK];
	uint64_t first_ns, last_ns, lost;
};

/* Records that describe: an event, as a pipe has it; a path's build id. */
int perf_reader_attr(struct perf_reader *r, struct bytes body);
int perf_reader_build_id_record(struct perf_reader *r, uint16_t misc, struct bytes body);

/* Twice over the data: what was recorded, and in which order it comes; then all of it, applied by
 * time. */
int perf_records_note(struct perf_reader *r, struct bytes data);
int perf_records_apply(struct perf_reader *r, struct bytes data);

/* `e` is the body of a record of this type and misc, behind its header; `attr` says which fields
 * it has. 0 or an error; records of other types are passed over. */
int perf_event_apply(struct perf_reader *r, uint32_t type, uint16_t misc, struct bytes e,
		     const struct perf_attr *attr);

/* A path's build id, of `len` bytes, from a table of them. */
bool perf_reader_build_id(struct perf_reader *r, const char *path, size_t path_len,
			  const uint8_t *id, uint32_t len);

int perf_reader_full(struct perf_reader *r);

#endif
