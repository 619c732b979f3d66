/* SPDX-License-Identifier: Apache-2.0 */
#include "store_pages.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "io.h"
#include "store_pages_priv.h"

const char *const store_table_names[KV_TABLE_COUNT] = {
	[KV_TABLES] = "tables",   [KV_BINARIES] = "binaries", [KV_USED] = "used",
	[KV_MISSING] = "missing", [KV_BATCHES] = "batches",   [KV_BATCH_ORDER] = "batch_order",
	[KV_META] = "meta",
};

static uint16_t u16_at(const uint8_t *p)
{
	uint16_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

uint16_t store_page_flags(const uint8_t *page)
{
	return u16_at(page + 10) & PAGE_KINDS;
}

size_t store_page_nodes(const uint8_t *page)
{
	return (size_t)(u16_at(page + 12) - PAGE_HEADER_LEN) / 2;
}

uint64_t store_page_run(const uint8_t *page)
{
	return u16_at(page + 12) | (uint64_t)u16_at(page + 14) << 16;
}

const char *store_page_fault(const struct store_pages *p, const uint8_t *page, uint64_t number)
{
	size_t lower = u16_at(page + 12), upper = u16_at(page + 14);

	if (u64_at(page) != number)
		return "its number is another one";
	if (store_page_flags(page) == PAGE_OVERFLOW)
		return NULL;
	if (store_page_flags(page) != PAGE_BRANCH && store_page_flags(page) != PAGE_LEAF)
		return "it is of no known kind";
	if (lower < PAGE_HEADER_LEN || lower % 2 || lower > upper || upper > p->page_len)
		return "its header is damaged";
	return NULL;
}

bool store_page_node_at(const struct store_pages *p, const uint8_t *page, size_t off, bool is_leaf,
			struct store_node *ret)
{
	const uint8_t *n = page + off;
	size_t key_len, in_page;

	if (off < PAGE_HEADER_LEN || off % 2 || off + NODE_HEADER_LEN > p->page_len)
		return false;
	key_len = u16_at(n + 6);
	if (key_len > p->page_len - off - NODE_HEADER_LEN)
		return false;
	*ret = (struct store_node){.key = {n + NODE_HEADER_LEN, key_len}};
	if (!is_leaf) {
		ret->child =
			u16_at(n) | (uint64_t)u16_at(n + 2) << 16 | (uint64_t)u16_at(n + 4) << 32;
		ret->end = off + NODE_HEADER_LEN + key_len;
		return true;
	}
	ret->len = u16_at(n) | (uint64_t)u16_at(n + 2) << 16;
	ret->flags = u16_at(n + 4);
	in_page = ret->flags & NODE_LONG ? sizeof(uint64_t) : (size_t)ret->len;
	if (in_page > p->page_len - off - NODE_HEADER_LEN - key_len)
		return false;
	ret->value = n + NODE_HEADER_LEN + key_len;
	if (ret->flags & NODE_LONG)
		ret->child = u64_at(ret->value);
	ret->end = off + NODE_HEADER_LEN + key_len + in_page;
	return true;
}

bool store_page_node(const struct store_pages *p, const uint8_t *page, size_t i,
		     struct store_node *ret)
{
	return store_page_node_at(p, page, u16_at(page + PAGE_HEADER_LEN + 2 * i),
				  store_page_flags(page) == PAGE_LEAF, ret);
}

bool store_page_read(const struct store_pages *p, uint64_t number, uint8_t *to)
{
	return number < p->page_count && !io_read_all(io_system(), p->fd, to, p->page_len,
						      (off_t)(number * p->page_len), NULL);
}

bool store_page_head(const struct store_pages *p, uint64_t number, uint8_t to[PAGE_HEADER_LEN])
{
	return number < p->page_count && !io_read_all(io_system(), p->fd, to, PAGE_HEADER_LEN,
						      (off_t)(number * p->page_len), NULL);
}

uint64_t store_value_pages(const struct store_pages *p, uint64_t len)
{
	return (PAGE_HEADER_LEN - 1 + len) / p->page_len + 1;
}

bool store_value_read(struct store_pages *p, uint64_t first, uint64_t len, struct kv_bytes *ret)
{
	if (first < 2 || first >= p->page_count ||
	    store_value_pages(p, len) > p->page_count - first)
		return false;
	buf_reset(&p->value);
	if (!buf_extend(&p->value, (size_t)len) ||
	    io_read_all(io_system(), p->fd, p->value.p, (size_t)len,
			(off_t)(first * p->page_len + PAGE_HEADER_LEN), NULL))
		return false;
	*ret = (struct kv_bytes){p->value.p, (size_t)len};
	return true;
}

bool store_page_is_marked(const struct store_pages *p, uint64_t page)
{
	return p->marks[page / 8] >> (page % 8) & 1;
}

bool store_page_mark(struct store_pages *p, uint64_t first, uint64_t count)
{
	if (first < 2 || first >= p->page_count || count > p->page_count - first)
		return false;
	for (uint64_t i = first; i < first + count; i++) {
		if (store_page_is_marked(p, i))
			return false;
		p->marks[i / 8] |= (uint8_t)(1 << i % 8);
	}
	return true;
}

struct store_tree store_tree_of(const uint8_t *p)
{
	return (struct store_tree){
		.flags = u16_at(p + 4),
		.depth = u16_at(p + 6),
		.counts = {u64_at(p + 8), u64_at(p + 16), u64_at(p + 24), u64_at(p + 32)},
		.root = u64_at(p + 40),
		.table = KV_TABLE_COUNT,
	};
}

static bool read_meta(const struct store_pages *p, size_t number, size_t page_len,
		      struct store_meta *ret)
{
	static const uint8_t magic[] = {0xde, 0xc0, 0xef, 0xbe, 1, 0, 0, 0};
	uint8_t page[PAGE_HEADER_LEN + META_LEN];
	const uint8_t *m = page + PAGE_HEADER_LEN;

	if (io_read_all(io_system(), p->fd, page, sizeof(page), (off_t)(number * page_len), NULL) ||
	    store_page_flags(page) != PAGE_META || u64_at(page) != number ||
	    memcmp(m, magic, sizeof(magic)) != 0 || u16_at(m + 24) != (uint16_t)page_len)
		return false;
	ret->map_len = u64_at(m + 16);
	ret->trees[0] = store_tree_of(m + 24);
	ret->trees[1] = store_tree_of(m + 72);
	ret->last_page = u64_at(m + 120);
	ret->commit = u64_at(m + 128);
	return ret->last_page < UINT64_MAX / page_len - 1;
}

static void read_metas(struct store_pages *p)
{
	for (size_t i = 0; i < 2; i++)
		p->has_meta[i] = read_meta(p, i, p->page_len, &p->metas[i]);
}

int store_pages_reopen(struct store_pages *p, struct err *err)
{
	struct stat st;
	uint8_t *marks;

	if (fstat(p->fd, &st))
		return err_sys(err, errno, "%s", p->path);
	p->page_count = (uint64_t)st.st_size / p->page_len;
	marks = realloc(p->marks, (size_t)(p->page_count / 8 + 1));
	if (!marks)
		return err_no_memory(err);
	p->marks = marks;
	p->value.max = (size_t)st.st_size;
	read_metas(p);
	return 0;
}

int store_pages_open(struct store_pages **ret, int fd, const char *path, struct err *err)
{
	_cleanup_(store_pages_closep) struct store_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return err_no_memory(err);
	p->fd = fd;
	p->path = path;
	p->page_len = (size_t)sysconf(_SC_PAGESIZE);
	p->levels = malloc(TREE_DEPTH_MAX * p->page_len);
	if (!p->levels)
		return err_no_memory(err);
	TRY(store_pages_reopen(p, err));
	*ret = TAKE_PTR(p);
	return 0;
}

void store_pages_close(struct store_pages *p)
{
	if (!p)
		return;
	buf_done(&p->value);
	free(p->marks);
	free(p->levels);
	free(p);
}

bool store_pages_have_meta(const struct store_pages *p)
{
	return p->has_meta[0] || p->has_meta[1];
}

/* --- checking -------------------------------------------------------------------------------- */

struct check {
	struct store_pages *p;
	const char *name; /* name of the tree */
	struct store_tree tree;
	uint64_t counts[TREE_COUNTS];
	bool is_free, is_main;
	uint64_t last_page, commit;
	struct err *err;
};

static int check_tree(struct check *c, size_t level);

static int page_fault(const struct check *c, uint64_t page, const char *what)
{
	return err_set(c->err, ERR_DATA,
		       "%s: damaged: page %llu, tree '%s': %s; " STORE_DAMAGED_ADVICE, c->p->path,
		       (unsigned long long)page, c->name, what);
}

int store_key_compare(struct kv_bytes a, struct kv_bytes b)
{
	int c = memcmp(a.p, b.p, a.len < b.len ? a.len : b.len);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int compare_keys(const struct check *c, struct kv_bytes a, struct kv_bytes b)
{
	uint64_t x, y;

	if (!c->is_free)
		return store_key_compare(a, b);
	x = u64_at(a.p);
	y = u64_at(b.p);
	return (x > y) - (x < y);
}

/* Checks a list of free pages: their count, then their numbers in falling order. */
static int check_free(struct check *c, uint64_t page, const struct store_node *n)
{
	struct kv_bytes value = {n->value, (size_t)n->len};
	uint64_t count, before = c->last_page + 1;
	const uint8_t *p;

	if (n->flags & NODE_LONG && !store_value_read(c->p, n->child, n->len, &value))
		return page_fault(c, page, "a list of free pages cannot be read");
	p = value.p;
	if (value.len < sizeof(count) || u64_at(n->key.p) > c->commit)
		return page_fault(c, page, "a list of free pages is damaged");
	count = u64_at(p);
	if (count > value.len / sizeof(count) - 1)
		return page_fault(c, page, "a list of free pages is damaged");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = u64_at(p + (i + 1) * sizeof(id));

		if (id >= before || !store_page_mark(c->p, id, 1))
			return page_fault(c, page, "a page is free, and also in use or free twice");
		before = id;
	}
	return 0;
}

static int check_main(struct check *c, uint64_t page, const struct store_node *n, size_t level)
{
	struct check named = {.p = c->p,
			      .name = "?",
			      .last_page = c->last_page,
			      .commit = c->commit,
			      .err = c->err};

	if (n->flags != NODE_TREE || n->len != TREE_LEN)
		return page_fault(c, page, "an entry is no tree");
	named.tree = store_tree_of(n->value);
	for (size_t i = 0; i < KV_TABLE_COUNT; i++)
		if (n->key.len == strlen(store_table_names[i]) &&
		    !memcmp(n->key.p, store_table_names[i], n->key.len))
			named.name = store_table_names[i];
	if (named.tree.flags)
		return page_fault(c, page, "a tree is of an unknown kind");
	return check_tree(&named, level + 1);
}

static int check_value(struct check *c, uint64_t page, const struct store_node *n, size_t level)
{
	uint8_t head[PAGE_HEADER_LEN];
	uint64_t run;

	if (n->flags & NODE_LONG) {
		if (n->child > c->last_page || !store_page_head(c->p, n->child, head))
			return page_fault(c, page, "a value lies behind the end");
		run = store_page_run(head);
		if (u64_at(head) != n->child || store_page_flags(head) != PAGE_OVERFLOW ||
		    run < store_value_pages(c->p, n->len) || run > c->last_page - n->child + 1)
			return page_fault(c, n->child, "the head of a value is damaged");
		if (!store_page_mark(c->p, n->child, run))
			return page_fault(c, n->child, "a page is used twice");
		c->counts[TREE_OVERFLOW] += run;
	}
	if (c->is_free)
		return check_free(c, page, n);
	return c->is_main ? check_main(c, page, n, level) : 0;
}

/* Checks a page and those below it. low and high are the bounds of its keys that the branches above
 * give; NULL: no bound. */
static int check_page(struct check *c, uint64_t number, size_t level, size_t depth,
		      const struct kv_bytes *low, const struct kv_bytes *high)
{
	uint8_t *page = c->p->levels + level * c->p->page_len;
	struct store_node n = {0}, next = {0};
	const char *what;
	size_t count, used = 0;
	bool is_leaf;

	if (level + 1 >= TREE_DEPTH_MAX)
		return page_fault(c, number, "the tree is too deep");
	if (number > c->last_page || !store_page_mark(c->p, number, 1))
		return page_fault(c, number, "a page is used twice, or lies behind the end");
	if (!store_page_read(c->p, number, page))
		return page_fault(c, number, "it cannot be read");
	what = store_page_fault(c->p, page, number);
	if (what)
		return page_fault(c, number, what);
	is_leaf = store_page_flags(page) == PAGE_LEAF;
	if (is_leaf != (depth == c->tree.depth) || store_page_flags(page) == PAGE_OVERFLOW)
		return page_fault(c, number, "it is of the wrong kind");
	c->counts[is_leaf ? TREE_LEAF : TREE_BRANCH]++;
	count = store_page_nodes(page);
	if (count < (is_leaf ? 1 : 2))
		return page_fault(c, number, "it is empty");
	for (size_t i = 0; i < count; i++) {
		size_t key_max = c->is_free ? sizeof(uint64_t) : KV_KEY_MAX;

		if (!store_page_node(c->p, page, i, &next))
			return page_fault(c, number, "an entry is damaged");
		used += (next.end - (size_t)((const uint8_t *)next.key.p - NODE_HEADER_LEN - page) +
			 1) /
			2 * 2;
		if (!is_leaf && i == 0)
			next.key = low ? *low : (struct kv_bytes){0}; /* its own key is not used */
		else if (next.key.len < (c->is_free ? key_max : 1) || next.key.len > key_max ||
			 (i ? n.key.len && compare_keys(c, n.key, next.key) >= 0
			    : low && compare_keys(c, next.key, *low) < 0) ||
			 (high && compare_keys(c, next.key, *high) >= 0))
			return page_fault(c, number, "its keys do not rise");
		n = next;
		if (is_leaf)
			TRY(check_value(c, number, &n, level));
	}
	if (used != c->p->page_len - u16_at(page + 14))
		return page_fault(c, number, "its entries do not fill it");
	c->counts[TREE_ENTRIES] += is_leaf ? count : 0;
	for (size_t i = 0; !is_leaf && i < count; i++) {
		if (!store_page_node(c->p, page, i, &n) ||
		    (i + 1 < count && !store_page_node(c->p, page, i + 1, &next)))
			return page_fault(c, number, "an entry is damaged");
		TRY(check_page(c, n.child, level + 1, depth + 1, i ? &n.key : low,
			       i + 1 < count ? &next.key : high));
	}
	return 0;
}

static int check_tree(struct check *c, size_t level)
{
	int rc = 0;

	if (c->tree.root != TREE_EMPTY)
		rc = check_page(c, c->tree.root, level, 1, NULL, NULL);
	else if (c->tree.depth)
		return page_fault(c, 0, "it has no root");
	if (!rc && memcmp(c->counts, c->tree.counts, sizeof(c->counts)) != 0)
		return page_fault(c, c->tree.root, "it has not what it says");
	return rc;
}

int store_pages_check_metas(struct store_pages *p, struct err *err)
{
	const struct store_meta *newer;

	read_metas(p);
	if (!p->has_meta[0] && !p->has_meta[1])
		return err_set(
			err, ERR_DATA,
			"%s: damaged: both meta pages, or it is no store; " STORE_DAMAGED_ADVICE,
			p->path);
	for (size_t i = 0; i < 2; i++) {
		const struct store_meta *m = &p->metas[i];

		if (!p->has_meta[i] || m->map_len > MAP_LEN_MAX || m->commit % 2 != i ||
		    m->last_page > MAP_LEN_MAX / p->page_len)
			return err_set(err, ERR_DATA,
				       "%s: damaged: meta page %zu; " STORE_DAMAGED_ADVICE, p->path,
				       i);
	}
	/* The older meta page is not used, and may describe pages that were cut off since. */
	newer = &p->metas[p->metas[1].commit > p->metas[0].commit];
	if (newer->last_page >= p->page_count)
		return err_set(
			err, ERR_DATA,
			"%s: damaged: truncated, %llu bytes, %llu expected; " STORE_DAMAGED_ADVICE,
			p->path, (unsigned long long)(p->page_count * p->page_len),
			(unsigned long long)((newer->last_page + 1) * p->page_len));
	return 0;
}

int store_pages_check(struct store_pages *p, uint64_t commit, struct err *err)
{
	static const char *const names[] = {"free pages", "main"};
	const struct store_meta *m;

	TRY(store_pages_check_metas(p, err));
	m = &p->metas[commit % 2];
	if (m->commit != commit)
		return err_set(err, ERR_NOT_FOUND, "%s: commit %llu is over", p->path,
			       (unsigned long long)commit);
	if (m->last_page >= p->page_count)
		return err_set(err, ERR_DATA, "%s: truncated; " STORE_DAMAGED_ADVICE, p->path);
	memset(p->marks, 0, (size_t)(p->page_count / 8 + 1));
	for (size_t i = 0; i < 2; i++) {
		struct check c = {.p = p,
				  .name = names[i],
				  .tree = m->trees[i],
				  .is_free = i == 0,
				  .is_main = i == 1,
				  .last_page = m->last_page,
				  .commit = commit,
				  .err = err};

		if ((m->trees[i].flags & TREE_FLAGS) != (i ? 0 : TREE_INTEGER_KEYS))
			return page_fault(&c, m->trees[i].root, "it is of an unknown kind");
		TRY(check_tree(&c, 0));
	}
	return 0;
}
