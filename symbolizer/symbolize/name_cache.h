/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NAME_CACHE_H
#define RAWSTACK_NAME_CACHE_H
/*
 * Caches names, as replies show them, and paths, from one request to the next. Unpacking a block of
 * a table's strings and demangling a name cost as much as a hundred lookups. The bytes are bounded;
 * roughly, the texts that were not asked for the longest go first. Safe from any thread.
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

/* One text of a table that the caller asks for. */
struct name_ask {
	uint32_t string; /* its number in the table: rsym_name_id(), or a file's id */
	uint32_t kind;   /* enum name_kind */
	uint32_t id;     /* the function's or file's id, for the caller; not used here */
	bool found, old;
	uint32_t off, len; /* in the buffer */
};

/* Holds at most max_bytes of memory. */
struct name_cache *name_cache_new(size_t max_bytes, struct err *err) _must_check_;
void name_cache_free(struct name_cache *c);

/*
 * Appends to `to` the texts that the cache has of the table with this number (struct store_table),
 * and fills the last four fields of each ask. c may be NULL, which is an empty cache. Returns false
 * if `to` is full; the remaining asks are then marked as not found.
 */
bool name_cache_get(struct name_cache *c, uint64_t number, struct name_ask *asks, size_t count,
		    struct buf *to);

/* Copies into the cache the texts that were not found and that the caller has put into `from`
 * since. A text longer than a sixteenth of the cache is not kept. */
void name_cache_put(struct name_cache *c, uint64_t number, const struct name_ask *asks,
		    size_t count, const struct buf *from);

/* Frees the texts that nobody asked for since the call before the last one. */
void name_cache_age(struct name_cache *c);

size_t name_cache_memory(struct name_cache *c); /* bytes */

#endif
