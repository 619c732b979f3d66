/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_PRIV_H
#define RAWSTACK_SYMBOLIZE_PRIV_H
/* The work on one batch, as its parts share it: symbolize.c (the reply), symbolize_lookups.c and
 * symbolize_modules.c. */
#include "arena.h"
#include "file_segments.h"
#include "limits.h"
#include "lookups.h"
#include "reply_names.h"
#include "symbolize.h"

#define LOCATION_STATUS(name) RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_##name
#define MODULE_STATUS(name)   RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_##name

struct module {
	struct build_id id;   /* as in the batch */
	struct kv_bytes path; /* borrowed from the batch; in a stream a copy */
	/* The segments of the file as the host sent them, for a table that has none. They lie in
	 * the same memory as path. If the host sent illegal ones there are none, and segments_wrong
	 * says why. */
	const struct file_segment *segments;
	uint32_t segment_count;
	const char *segments_wrong;
	Rawstack__V1__ModuleStatus status;
	uint64_t generation;
	/* The fields from here on belong to the present batch. */
	struct build_id found; /* the id of the binary that `id` names */
	bool damaged;
	bool is_odd;     /* an address was in no function, or a function had no name */
	bool asked;      /* a location refers to the module */
	bool by_offset;  /* a location refers to it by file offset */
	uint64_t weight; /* weight of its locations, saturating */
	uint64_t number; /* number of the table; both are set if status is READY */
	struct rsym table;
};

struct symbolize {
	const struct symbolize_env *env;
	const Rawstack__V1__StackBatch *batch;
	const Rawstack__V1__Locations *locations;
	Rawstack__V1__SymbolizedBatch reply;
	struct arena arena; /* memory of one reply whose size follows from the request */

	/* The dictionaries of the batch, or of all batches of a stream so far. */
	bool is_stream;
	struct arena copies; /* copies of a stream's strings */
	struct module *modules;
	size_t module_count, modules_cap, first_module;
	struct kv_bytes *strings;
	size_t string_count, strings_cap, first_string;

	struct reply_names names;
	struct lookups lookups;
	uint32_t *frame_function, *frame_line, *frame_column;
	size_t frame_count, function_cap, line_cap, column_cap;
	struct rsym_frame scratch[RSYM_FRAMES_MAX];
};

/* Adds the batch's modules and strings to the dictionaries. Returns ERR_MEMORY if memory is out. */
int symbolize_dictionaries_add(struct symbolize *s, struct err *err) _must_check_;

/* Opens the tables of the batch and fills the replies of its modules. */
int symbolize_modules_open(struct symbolize *s, struct store_read *r, struct err *err) _must_check_;

/* Compares the checksums of tables whose answers are odd. Returns ERR_DAMAGED if one is wrong; the
 * batch then has to be answered anew. */
int symbolize_modules_recheck(struct symbolize *s, struct store_read *r,
			      struct err *err) _must_check_;

/* Tells the store of uses and of missing modules. The read has to have ended. */
int symbolize_record_use(struct symbolize *s, struct err *err) _must_check_;

bool symbolize_is_cancelled(const struct symbolize *s);
int symbolize_cancelled(struct err *err); /* fills err and returns its code */

/* Returns whether location i is a return address, so that the byte before it is looked up. */
bool symbolize_is_return(const struct symbolize *s, size_t i);

/* Sets the statuses that are known at once; adds all other locations to the lookups and sorts them.
 */
int symbolize_gather(struct symbolize *s, struct err *err);

/* Looks up a group and prepares its names. Answers that are not `done` afterwards had no room. */
int symbolize_look_up(struct symbolize *s, const struct lookup_group *g, struct err *err);

/* Reduces a chain of frames in place to those that were asked for; returns their number. */
uint32_t symbolize_reduce(const struct symbolize *s, struct rsym_frame *frames, uint32_t count);

/* Returns the status of a location with this chain of frames. Without frames it is not in the
 * module. */
int symbolize_status(const struct rsym *t, const struct rsym_frame *frames, uint32_t count);

#endif
