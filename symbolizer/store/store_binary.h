/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_BINARY_H
#define RAWSTACK_STORE_BINARY_H
/* What the store knows of a binary: one that it has, or had, and one that is missing. */
#include "build_id.h"
#include "store_kv.h"

enum store_status {
	STORE_READY = 1,   /* there is a table */
	STORE_FAILED = 2,  /* the last build failed */
	STORE_PURGED = 3,  /* there was a table: evicted, deleted or damaged */
	STORE_OTHER = 4,   /* there are tables, none of this format; never put */
	STORE_DAMAGED = 5, /* its record is damaged, and there is nothing but the id; never put */
};

struct store_binary {
	struct build_id id;
	enum store_status status;
	bool pinned;
	uint64_t changed_ns; /* unix; when the status last changed */
	uint64_t used_ns;    /* unix; last use, to within a minute; 0: never. Not written */
	uint64_t generation; /* of the table */
	uint64_t table_len;
	uint64_t other_len;    /* of its tables of other formats together. Not written */
	uint16_t other_format; /* the newest of those; 0: there is none. Not written */
	const struct store_id_aliases *aliases; /* of store_put(): to be added; NULL: none */
	const void *meta; /* the service's own; opaque here. Borrowed from the read */
	size_t meta_len;
};

/*
 * Aliases of the id of a binary, by which it is found besides: htlhashes, of 16 bytes. As many as
 * there may be; the newest first, the oldest goes. They last as long as the record, with a table or
 * without, so that all names of a binary get the same answers.
 */
enum {
	STORE_ID_ALIASES = 4 /* stripped and not, signed and not */
};

struct store_id_aliases {
	struct build_id ids[STORE_ID_ALIASES];
	size_t count;
};

struct store_missing {
	struct build_id id;
	uint64_t weight; /* samples that could not be named, saturating */
	uint64_t first_ns, last_ns;
	uint32_t client; /* who asks; of a row: in whose share it is; 0: nobody in particular */
	bool has_table;  /* only to note: there is one, and it does not do */
	struct kv_bytes paths[8]; /* as hosts said; borrowed */
	size_t path_count;
};

#endif
