/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_PRIV_H
#define RAWSTACK_SYMBOLIZE_PRIV_H
/* What the parts of symbolize share: symbolize.c (the reply), symbolize_lookups.c,
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
	struct build_id id;   /* as the batch names it */
	struct kv_bytes path; /* the batch's, or a copy in a stream */
	/* The host's segments of the file, for a table that has none; they lie in the memory that
	 * path is in. When the host sent illegal ones there are none, and segments_wrong says why.
	 */
	const struct file_segment *segments;
	uint32_t segment_count;
	const char *segments_wrong;
	Rawstack__V1__ModuleStatus status;
	uint64_t generation;
	/* The fields from here on belong to the present batch. */
	struct build_id found; /* of the binary that the id stands for */
	bool damaged;
	bool is_odd;     /* an address was in no function, or a function had no name */
	bool asked;      /* a location refers to it */
	bool by_offset;  /* and one by a file offset */
	uint64_t weight; /* of its locations, saturating */
	uint64_t number; /* of the table, as below when status is READY */
	struct rsym table;
};

struct symbolize {
	const struct symbolize_env *env;
	const Rawstack__V1__StackBatch *batch;
	const Rawstack__V1__Locations *locations;
	Rawstack__V1__SymbolizedBatch reply;
	struct arena arena; /* of one reply: what has a size known from the request */

	/* The dictionaries: of the batch, or of a stream's batches so far. */
	bool is_stream;
	struct arena copies; /* a stream's */
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

/* Adds the batch's modules and strings to the dictionaries. ERR_MEMORY, ERR_LIMIT. */
int symbolize_dictionaries_add(struct symbolize *s, struct err *err) _must_check_;

/* Opens the tables of the batch and fills the replies of its modules. */
int symbolize_modules_open(struct symbolize *s, struct store_read *r, struct err *err) _must_check_;

/* Whether tables whose answers are odd are what was stored. ERR_DAMAGED when one is not: then the
 * batch is to be answered anew. */
int symbolize_modules_recheck(struct symbolize *s, struct store_read *r,
			      struct err *err) _must_check_;

/* What the store learns of the batch, once the read has ended. */
int symbolize_record_use(struct symbolize *s, struct err *err) _must_check_;

enum {
	SYMBOLIZE_NOT_YET = -1, /* a location's status: it is among the lookups */
};

bool symbolize_is_cancelled(const struct symbolize *s);
int symbolize_cancelled(struct err *err); /* fills err and returns its code */

/* Whether location i is of a caller: what is looked up then is the byte before its address. */
bool symbolize_is_return(const struct symbolize *s, size_t i);

/* Statuses that are known at once; all other locations are then among the lookups, sorted. */
int symbolize_gather(struct symbolize *s, struct err *err);

/* Looks a group up and prepares its names. Those that are not done then had no room. */
int symbolize_look_up(struct symbolize *s, const struct lookup_group *g, struct err *err);

/* Reduces a chain in place to the frames that were asked for; returns their number. */
uint32_t symbolize_reduce(const struct symbolize *s, struct rsym_frame *frames, uint32_t count);

/* The status of a location that has this chain; no frames: it is not in the module. */
int symbolize_status(const struct rsym *t, const struct rsym_frame *frames, uint32_t count);

#endif
