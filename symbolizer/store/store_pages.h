/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PAGES_H
#define RAWSTACK_STORE_PAGES_H
/*
 * Reads the pages of LMDB's file without LMDB. LMDB believes every byte of them: a damaged page
 * makes it loop, abort or fault. This module follows no page number before it is checked and reads
 * no page twice, so the length of the file bounds its work. It reads by pread(2) only, and makes no
 * map. In the drawing a number behind a field is its length in bytes.
 *
 *	page 0, 1    header 16, meta: two copies in turn, the newer one holds
 *	branch       header 16, offsets of nodes 2 each ... nodes
 *	              node: child page 6, key length 2, lowest key of the child
 *	leaf         header 16, offsets of nodes 2 each ... nodes
 *	              node: value length 4, flags 2, key length 2, key,
 *	                    value, or with NODE_LONG the page where it begins 8
 *	overflow     header 16, a long value, over as many pages as it needs
 *
 *	header       page number 8, 2 unused, kind 2, end of the offsets 2, begin of the nodes 2;
 *	              of overflow pages: count of pages 4 in place of the last two
 */
#include "err.h"
#include "store_kv.h"

struct store_pages;

/* The end of every message about a damaged file. */
#define STORE_DAMAGED_ADVICE                                                                 \
	"see `rawstack admin verify`, and copy what is intact to a new data directory with " \
	"`rawstack admin salvage`"

/* Compares keys in the order of the file: memcmp(), and the shorter first. */
int store_key_compare(struct kv_bytes a, struct kv_bytes b);

/* The name of each enum kv_table in the file. */
extern const char *const store_table_names[KV_TABLE_COUNT];

/* Opens any file, whatever its content. fd and path are borrowed until store_pages_close(); path is
 * for messages. */
int store_pages_open(struct store_pages **ret, int fd, const char *path,
		     struct err *err) _must_check_;
/* Reads the length and the meta pages again, because the file may have grown. */
int store_pages_reopen(struct store_pages *p, struct err *err) _must_check_;
void store_pages_close(struct store_pages *p);
DEFINE_FREEP(struct store_pages, store_pages_close);

/* Returns whether at least one meta page is sound. Without one, nothing tells which pages belong to
 * the newest commit. */
bool store_pages_have_meta(const struct store_pages *p);

/* Checks both meta pages, as far as they can be checked by themselves. Returns 0 or ERR_DATA. */
int store_pages_check_metas(struct store_pages *p, struct err *err) _must_check_;

/*
 * Walks all trees of one commit and checks that keys rise and lie within the bounds that their
 * branch gives, that no page is used twice or free as well, that values lie within the file, and
 * that the counts are right. Returns ERR_DATA with the page and its fault, or ERR_NOT_FOUND if no
 * meta page is of that commit. If another process writes to the file, a snapshot of the commit has
 * to be held.
 */
int store_pages_check(struct store_pages *p, uint64_t commit, struct err *err) _must_check_;

/* A pair that was found. Its bytes are borrowed until each() returns. */
struct store_pages_pair {
	enum kv_table table; /* KV_TABLE_COUNT if its tree is not known */
	struct kv_bytes key, value;
};

/*
 * Calls each() for every pair that can be found, whatever is damaged. First come the pairs of the
 * newest sound tree, then those in pages that no tree reaches and that are not free; in a page
 * without a sound header it looks for nodes one by one. Without a meta page it reads all pages,
 * also free ones, so that deleted pairs may appear again. A value may be damaged, and a pair may
 * come twice: each() compares checksums, and returns false to end the search. Returns 0 or
 * ERR_MEMORY.
 */
int store_pages_salvage(struct store_pages *p,
			bool (*each)(void *ctx, const struct store_pages_pair *pair), void *ctx,
			struct err *err) _must_check_;

/*
 * store_pages_find_value() looks through all long values for one of `len` bytes that no pair led
 * to; is_it() recognises it by its checksum. Returns whether it was found.
 */
struct kv_bytes
store_pages_value(const struct store_pages *p); /* the long value that was read last */
bool store_pages_find_value(struct store_pages *p, size_t len,
			    bool (*is_it)(void *ctx, struct kv_bytes value), void *ctx);

#endif
