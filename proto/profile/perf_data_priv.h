/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_DATA_PRIV_H
#define RAWSTACK_PERF_DATA_PRIV_H
/*
 * The reader of perf.data, as its parts share it: perf_data.c reads what surrounds the events,
 * perf_expand.c undoes perf's compression, perf_records.c sorts the events by time, and
 * perf_events.c applies them.
 */
#include "bytes.h"
#include "perf_data.h"
#include "perf_maps.h"
#include "perf_record.h"

/* One recorded kind of event (struct perf_event_attr). */
struct perf_attr {
	uint64_t sample_type, read_format, config, period;
	uint32_t type;
	uint32_t name; /* string of the profile; 0: none */
	bool sample_id_all, fixed_period;
};

/* A file, or the kernel, from which code was mapped. */
struct perf_object {
	uint32_t module; /* row of the profile, made at the first sample; PROFILE_NONE until then */
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
	bool in_rounds;       /* records keep to perf's rounds, so at most two rounds wait */
	bool clocks;          /* every event counts time, so weights are nanoseconds */

	struct perf_maps maps;
	struct intern paths; /* path -> row of path_ids */
	struct build_id_row {
		uint8_t bytes[20];
		uint32_t len;
	} * path_ids; /* build ids that the file gives by path, apart from mappings */
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

/* Apply a record that describes an event, as in a pipe, or the build id of a path. */
int perf_reader_attr(struct perf_reader *r, struct bytes body);
int perf_reader_build_id_record(struct perf_reader *r, uint16_t misc, struct bytes body);

/* Go over the data twice: the first notes which records there are and in which order, the second
 * applies them by time. */
int perf_records_note(struct perf_reader *r, struct bytes data);
int perf_records_apply(struct perf_reader *r, struct bytes data);

/* Applies one record. `e` is its body, behind the header; `attr` says which fields it has. Returns
 * 0 or an error; it skips records of other types. */
int perf_event_apply(struct perf_reader *r, uint32_t type, uint16_t misc, struct bytes e,
		     const struct perf_attr *attr);

/* Notes the build id of a path, of `len` bytes, from a table of them. */
bool perf_reader_build_id(struct perf_reader *r, const char *path, size_t path_len,
			  const uint8_t *id, uint32_t len);

int perf_reader_full(struct perf_reader *r);

#endif
