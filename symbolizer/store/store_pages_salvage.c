/* SPDX-License-Identifier: Apache-2.0 */
/* Salvages what is left in a damaged file, page by page. */
#include <string.h>

#include "store_pages_priv.h"

struct salvage {
	struct store_pages *p;
	bool (*each)(void *ctx, const struct store_pages_pair *pair);
	void *ctx;
	enum kv_table table; /* table of the tree whose pages are looked at */
	uint8_t *page;       /* the buffer for pages that no tree reaches */
	bool ended;
};

static void tell_pairs(struct salvage *s, const struct store_node *n)
{
	struct store_pages_pair pair = {s->table, n->key, {n->value, (size_t)n->len}};

	if (n->flags & ~NODE_LONG || !n->key.len || n->key.len > KV_KEY_MAX || s->ended)
		return;
	if (n->flags & NODE_LONG && !store_value_read(s->p, n->child, n->len, &pair.value))
		return;
	s->ended = !s->each(s->ctx, &pair);
}

/*
 * Tries every offset where a node can begin, because the offsets of nodes or the header may be
 * damaged. A checksum reveals what is not a record.
 */
static void scan_leaf(struct salvage *s, const uint8_t *page)
{
	struct store_node n;

	for (size_t off = PAGE_HEADER_LEN; off < s->p->page_len && !s->ended; off += 2)
		if (store_page_node_at(s->p, page, off, true, &n))
			tell_pairs(s, &n);
}

static void mark_free(struct salvage *s, const struct store_node *n)
{
	struct kv_bytes value = {n->value, (size_t)n->len};
	uint64_t count, id;
	const uint8_t *p;

	if (n->flags & NODE_LONG && !store_value_read(s->p, n->child, n->len, &value))
		return;
	p = value.p;
	if (value.len < sizeof(count))
		return;
	memcpy(&count, p, sizeof(count));
	for (uint64_t i = 1; i <= count && (i + 1) * sizeof(id) <= value.len; i++) {
		memcpy(&id, p + i * sizeof(id), sizeof(id));
		(void)store_page_mark(s->p, id, 1);
	}
}

static void walk_pages(struct salvage *s, uint64_t number, size_t level, bool is_free,
		       bool is_main);

static void take_tree(struct salvage *s, const struct store_node *n, size_t level)
{
	struct store_tree tree;

	if (n->flags != NODE_TREE || n->len != TREE_LEN)
		return;
	tree = store_tree_of(n->value);
	s->table = KV_TABLE_COUNT;
	for (size_t i = 0; i < KV_TABLE_COUNT; i++)
		if (n->key.len == strlen(store_table_names[i]) &&
		    !memcmp(n->key.p, store_table_names[i], n->key.len))
			s->table = (enum kv_table)i;
	walk_pages(s, tree.root, level + 1, false, false);
	s->table = KV_TABLE_COUNT;
}

/* Walks a tree. It leaves a damaged page to the search among pages that no tree reaches. */
static void walk_pages(struct salvage *s, uint64_t number, size_t level, bool is_free, bool is_main)
{
	uint8_t *page = s->p->levels + level * s->p->page_len;
	bool is_leaf;

	if (level + 1 >= TREE_DEPTH_MAX || s->ended || number >= s->p->page_count ||
	    store_page_is_marked(s->p, number) || !store_page_read(s->p, number, page) ||
	    store_page_fault(s->p, page, number) || store_page_flags(page) == PAGE_OVERFLOW ||
	    !store_page_mark(s->p, number, 1))
		return;
	is_leaf = store_page_flags(page) == PAGE_LEAF;
	for (size_t i = 0; i < store_page_nodes(page) && !s->ended; i++) {
		struct store_node n;

		if (!store_page_node(s->p, page, i, &n))
			continue;
		if (!is_leaf)
			walk_pages(s, n.child, level + 1, is_free, is_main);
		else if (is_main)
			take_tree(s, &n, level);
		else if (n.flags & NODE_LONG)
			(void)store_page_mark(s->p, n.child, store_value_pages(s->p, n.len));
		if (is_leaf && is_free)
			mark_free(s, &n);
	}
	if (is_leaf && !is_free && !is_main)
		scan_leaf(s, page);
}

/* Returns how many pages the long value that begins here has, or 0 if none seems to begin here. */
static uint64_t value_run(const struct store_pages *p, const uint8_t *page, uint64_t number)
{
	uint64_t run = store_page_run(page);

	return !store_page_fault(p, page, number) && store_page_flags(page) == PAGE_OVERFLOW &&
			       run <= p->page_count - number
		       ? run
		       : 0;
}

int store_pages_salvage(struct store_pages *p,
			bool (*each)(void *ctx, const struct store_pages_pair *pair), void *ctx,
			struct err *err)
{
	_cleanup_(freep) uint8_t *page = malloc(p->page_len);
	struct salvage s = {
		.p = p, .each = each, .ctx = ctx, .table = KV_TABLE_COUNT, .page = page};
	const struct store_meta *m = &p->metas[0];
	uint64_t run;

	if (!page)
		return err_no_memory(err);
	if (!p->has_meta[0] || (p->has_meta[1] && p->metas[1].commit > m->commit))
		m = &p->metas[1];
	memset(p->marks, 0, (size_t)(p->page_count / 8 + 1));
	if (store_pages_have_meta(p)) {
		walk_pages(&s, m->trees[1].root, 0, false, true);
		walk_pages(&s, m->trees[0].root, 0, true, false);
	}
	for (uint64_t i = 2; i < p->page_count && !s.ended; i += run ? run : 1) {
		run = 0;
		if (store_page_is_marked(p, i) || !store_page_read(p, i, page))
			continue;
		run = value_run(p, page, i);
		if (!run)
			scan_leaf(&s, page);
	}
	return 0;
}

struct kv_bytes store_pages_value(const struct store_pages *p)
{
	return (struct kv_bytes){p->value.p, p->value.len};
}

bool store_pages_find_value(struct store_pages *p, size_t len,
			    bool (*is_it)(void *ctx, struct kv_bytes value), void *ctx)
{
	uint8_t head[PAGE_HEADER_LEN];
	struct kv_bytes value;
	uint64_t run;

	for (uint64_t i = 2; i < p->page_count; i += run ? run : 1) {
		run = 0;
		if (!store_page_head(p, i, head))
			continue;
		run = value_run(p, head, i);
		if (run >= store_value_pages(p, len) && store_value_read(p, i, len, &value) &&
		    is_it(ctx, value))
			return true;
	}
	return false;
}
