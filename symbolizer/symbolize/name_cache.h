/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NAME_CACHE_H
#define RAWSTACK_NAME_CACHE_H
/*
 * Names as replies show them, and paths, kept from one request for the next: unpacking a block of a
 * table's strings and demangling a name cost a hundred lookups. Bounded in bytes; what was not
 * asked for the longest goes, roughly. Safe from any thread.
 */
#include "buf.h"
#include "err.h"

struct name_cache;

enum name_kind {
	NAME_LINKAGE = 0, /* as enum demangle_style */
	NAME_SHORT = 1,
	NAME_FULL = 2,
	NAME_FILE = 3,
};

/* A text of one table. */
struct name_ask {
	uint32_t string; /* its number in the table: rsym_name_id(), or a file's id */
	uint32_t kind;   /* enum name_kind */
	uint32_t id;     /* of the function or file: the caller's, nothing is read from it here */
	bool found, old;
	uint32_t off, len; /* in the buffer */
};

/* Holds at most max_bytes of memory. */
struct name_cache *name_cache_new(size_t max_bytes, struct err *err) _must_check_;
void name_cache_free(struct name_cache *c);

/*
 * Appends to `to` the texts that are there, of the table with this number (struct store_table), and
 * fills the last four fields of each. c may be NULL: it has none. False when `to` is full, with
 * the rest marked as not found.
 */
bool name_cache_get(struct name_cache *c, uint64_t number, struct name_ask *asks, size_t count,
		    struct buf *to);

/* Keeps copies of texts that were not found, and have been put into `from` since. Those of a length
 * above a sixteenth of the whole are left out. */
void name_cache_put(struct name_cache *c, uint64_t number, const struct name_ask *asks,
		    size_t count, const struct buf *from);

/* Frees what was not asked for since the call before the last one. */
void name_cache_age(struct name_cache *c);

size_t name_cache_memory(struct name_cache *c); /* bytes */

#endif
