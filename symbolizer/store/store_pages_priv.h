/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PAGES_PRIV_H
#define RAWSTACK_STORE_PAGES_PRIV_H
/* Reads the format of LMDB 0.9 on a 64-bit machine, for checking (store_pages.c) and salvaging
 * (store_pages_salvage.c). Page numbers and lengths come from an untrusted file. A struct
 * store_pages is for one thread. */
#include "buf.h"
#include "store_pages.h"

enum {
	PAGE_HEADER_LEN = 16,
	NODE_HEADER_LEN = 8,
	META_LEN = 136,
	TREE_LEN = 48,
	TREE_DEPTH_MAX =
		48, /* pages from the root of all trees to a leaf; LMDB allows 32 per tree */

	PAGE_BRANCH = 1,
	PAGE_LEAF = 2,
	PAGE_OVERFLOW = 4,
	PAGE_META = 8,
	PAGE_KINDS = 0x6f, /* bits of the kind; the others say how the page was written */

	NODE_LONG = 1, /* the node holds the number of the page where the value begins */
	NODE_TREE = 2, /* its value is a tree */

	TREE_INTEGER_KEYS = 8,
	TREE_FLAGS = 0x7f, /* the tree of free pages uses the other bits for the whole file */
};
#define TREE_EMPTY  UINT64_MAX
#define MAP_LEN_MAX (UINT64_C(1) << 47) /* no process can map more */

enum {
	TREE_BRANCH,
	TREE_LEAF,
	TREE_OVERFLOW,
	TREE_ENTRIES,
	TREE_COUNTS
};

struct store_tree {
	uint16_t flags, depth;
	uint64_t counts[TREE_COUNTS];
	uint64_t root;
	enum kv_table table;
};

struct store_meta {
	struct store_tree trees[2]; /* the free pages; the tree of all other trees */
	uint64_t map_len, last_page, commit;
};

struct store_pages {
	int fd;
	const char *path;
	size_t page_len;
	uint64_t page_count;
	struct store_meta metas[2];
	bool has_meta[2];
	uint8_t *marks;   /* one bit for each page: it was read */
	uint8_t *levels;  /* the pages from the root to the present place of a walk */
	struct buf value; /* the long value that was read last */
};

struct store_node {
	uint16_t flags;
	struct kv_bytes key;
	uint64_t child; /* in a branch: the child's page; in a leaf with NODE_LONG: the value's */
	uint64_t len;   /* bytes of the value */
	const uint8_t *value;
	size_t end; /* where the node ends in the page */
};

uint16_t store_page_flags(const uint8_t *page); /* those of PAGE_KINDS */
size_t store_page_nodes(const uint8_t *page); /* nodes of a branch or leaf whose header is sound */
uint64_t store_page_run(const uint8_t *page); /* pages of a long value */
/* Returns NULL, or what is wrong with the header. */
const char *store_page_fault(const struct store_pages *p, const uint8_t *page, uint64_t number);
/* Read node i of a page, which is below store_page_nodes(), or the node at an offset in it. Return
 * false if the node does not lie in the page. *ret borrows from the page. */
bool store_page_node(const struct store_pages *p, const uint8_t *page, size_t i,
		     struct store_node *ret);
bool store_page_node_at(const struct store_pages *p, const uint8_t *page, size_t off, bool is_leaf,
			struct store_node *ret);
/* Read a page, or its header only. Return false if it is not in the file or cannot be read. */
bool store_page_read(const struct store_pages *p, uint64_t number, uint8_t *to);
bool store_page_head(const struct store_pages *p, uint64_t number, uint8_t to[PAGE_HEADER_LEN]);
/* Returns false if one of the pages is marked already or lies beyond the end of the file. */
bool store_page_mark(struct store_pages *p, uint64_t first, uint64_t count);
bool store_page_is_marked(const struct store_pages *p, uint64_t page);
/* Returns how many pages a long value of len bytes takes. */
uint64_t store_value_pages(const struct store_pages *p, uint64_t len);
/* Reads a long value that begins in page `first`. *ret is valid until the next call. Returns false
 * if it is not in the file, cannot be read, or does not fit the memory. */
bool store_value_read(struct store_pages *p, uint64_t first, uint64_t len, struct kv_bytes *ret);
/* Decodes the TREE_LEN bytes of a tree. */
struct store_tree store_tree_of(const uint8_t *p);

#endif
