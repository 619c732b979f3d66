/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_BINARY_H
#define RAWSTACK_STORE_BINARY_H
/* The structs of what the store knows of a binary that it has or had, and of one that is missing.
 */
#include "build_id.h"
#include "store_kv.h"

enum store_status {
	STORE_READY = 1,   /* there is a table */
	STORE_FAILED = 2,  /* the last build failed */
	STORE_PURGED = 3,  /* there was a table: evicted, deleted or damaged */
	STORE_OTHER = 4,   /* tables exist, but none of this format; never written */
	STORE_DAMAGED = 5, /* the record is damaged, only the id is known; never written */
};

struct store_binary {
	struct build_id id;
	enum store_status status;
	bool pinned;
	uint64_t changed_ns; /* Unix time of the last change of the status */
	uint64_t used_ns;    /* Unix time of the last use, to within a minute; 0: never. Not in the
				record */
	uint64_t generation; /* generation of the table of this format */
	uint64_t table_len;
	uint64_t other_len;    /* bytes of all tables of other formats. Not in the record */
	uint16_t other_format; /* the newest of those formats; 0: none. Not in the record */
	const struct store_id_aliases *aliases; /* for store_put(): to add; or NULL */
	const void *meta; /* the service's own bytes, opaque here; borrowed from the read */
	size_t meta_len;
};

/*
 * Other names of a binary, by which it is found besides its id: htlhashes of 16 bytes, the newest
 * first. The oldest goes when there are too many. They last as long as the record, with or without
 * a table, so that every name of a binary gets the same answers.
 */
enum {
	STORE_ID_ALIASES = 4 /* a file may be stripped or not, signed or not */
};

struct store_id_aliases {
	struct build_id ids[STORE_ID_ALIASES];
	size_t count;
};

struct store_missing {
	struct build_id id;
	uint64_t weight; /* samples that could not be named, saturating */
	uint64_t first_ns, last_ns;
	uint32_t client; /* in a note: who asks; in a record: whose share it is in; 0: unknown */
	bool has_table;  /* in a note only: a table exists, but is of no use */
	struct kv_bytes paths[8]; /* paths that hosts reported; borrowed */
	size_t path_count;
};

#endif
