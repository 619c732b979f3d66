/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PAGES_H
#define RAWSTACK_STORE_PAGES_H
/*
 * The pages of LMDB's file, read without LMDB, which believes every byte of them: a damaged page
 * makes it loop, abort or fault. Nothing here follows a page that was not checked, and no page is
 * read twice, so that the work is bounded by the length of the file. Reads by pread only.
 *
 *	page 0, 1   meta: two of them, the newer one holds
 *	branch      16 bytes of header, offsets of nodes; node: page of a child, its lowest key
 *	leaf        the same; node: key, value, or the page where a long value begins
 *	overflow    16 bytes of header, the value, over as many pages as it needs
 */
#include "err.h"
#include "store_kv.h"

struct store_pages;

/* What every message of a damaged file ends in. */
#define STORE_DAMAGED_ADVICE                                                                 \
	"see `rawstack admin verify`, and copy what is intact to a new data directory with " \
	"`rawstack admin salvage`"

/* Compares keys in the order of the file: memcmp(), and the shorter first. */
int store_key_compare(struct kv_bytes a, struct kv_bytes b);

/* A name of each enum kv_table in the file. */
extern const char *const store_table_names[KV_TABLE_COUNT];

/* fd is borrowed; path is for messages, and too. Whatever is in the file. */
int store_pages_open(struct store_pages **ret, int fd, const char *path,
		     struct err *err) _must_check_;
/* The file may have grown. */
int store_pages_reopen(struct store_pages *p, struct err *err) _must_check_;
void store_pages_close(struct store_pages *p);
DEFINE_FREEP(struct store_pages, store_pages_close);

/* The commit that the newer meta page tells. */
uint64_t store_pages_commit(const struct store_pages *p);

/* Whether one of the two meta pages is one: else nothing tells which pages are of the newest
 * commit. */
bool store_pages_have_meta(const struct store_pages *p);

/* Both meta pages are what they should be, as far as can be seen from them. */
int store_pages_check_metas(struct store_pages *p, struct err *err) _must_check_;

/*
 * Walks all trees of one commit: keys rise and lie within what their branch says, no page is used
 * twice or free as well, values lie within the file, and the counts are right. ERR_DATA with the
 * page and what is wrong with it; ERR_NOT_FOUND when no meta page tells of the commit. A file that
 * is written to meanwhile has to be pinned by a snapshot of that commit.
 */
int store_pages_check(struct store_pages *p, uint64_t commit, struct err *err) _must_check_;

/* What was found; the bytes are borrowed until each() returns. */
struct store_pages_pair {
	enum kv_table table; /* KV_TABLE_COUNT: its tree is not known */
	struct kv_bytes key, value;
};

/*
 * Tells every pair that can be found, whatever is damaged: those of the newest sound tree first,
 * then what lies in pages that no tree reaches and that are not free, node by node where a page has
 * lost its header. Without a meta page that is all pages, free ones too: what was deleted may be
 * there again. A value may be damaged, and a pair be told twice: who takes it compares its
 * checksum. each() returns false to end it. ERR_MEMORY.
 */
int store_pages_salvage(struct store_pages *p,
			bool (*each)(void *ctx, const struct store_pages_pair *pair), void *ctx,
			struct err *err) _must_check_;

/*
 * After that: a long value of so many bytes that no pair led to, one after the other; is_it() knows
 * it by its checksum. True when it was found.
 */
struct kv_bytes store_pages_value(const struct store_pages *p); /* the one that was read last */
bool store_pages_find_value(struct store_pages *p, size_t len,
			    bool (*is_it)(void *ctx, struct kv_bytes value), void *ctx);

#endif
