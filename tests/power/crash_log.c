/* SPDX-License-Identifier: Apache-2.0 */
#include "crash_log.h"

#include <stdio.h>
#include <string.h>

enum {
	BLOCK = 4096,
	SECTOR = 512,
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

uint64_t crash_random(uint64_t *seed, uint64_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % n;
}

void crash_log_add(struct crash_log *l, enum crash_op op, uint64_t id, uint64_t off,
		   const void *data, size_t len, const char *name, const char *to)
{
	struct crash_entry *e;

	if (!GROW(l->entries, &l->cap, l->count + 1, SIZE_MAX))
		abort();
	e = &l->entries[l->count++];
	*e = (struct crash_entry){.op = op, .id = id, .off = off, .len = len};
	if (data && len)
		e->data = memcpy(must(malloc(len)), data, len);
	snprintf(e->name, sizeof(e->name), "%s", name ? name : "");
	snprintf(e->to, sizeof(e->to), "%s", to ? to : "");
}

void crash_log_done(struct crash_log *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->entries[i].data);
	free(l->entries);
	*l = (struct crash_log){0};
}

/* --- the disk -------------------------------------------------------------------------------- */

/* One block of a file: what is durable, and what it was since. */
struct block {
	uint8_t **versions; /* [0] is durable; NULL: zeros */
	size_t count, cap;
};

struct inode {
	uint64_t id;
	struct block *blocks;
	size_t block_count, block_cap;
	uint64_t *lengths; /* [0] is durable */
	size_t length_count, length_cap;
};

struct name {
	char name[128];
	uint64_t id;
};

struct names {
	struct name *all;
	size_t count, cap;
};

struct crash_disk {
	const struct crash_log *log;
	size_t at;
	struct inode *inodes;
	size_t inode_count, inode_cap;
	struct names durable;
	size_t *pending; /* entries that change names and are not synced */
	size_t pending_count, pending_cap;
};

static struct inode *inode_of(const struct crash_disk *d, uint64_t id)
{
	for (size_t i = d->inode_count; i-- > 0;)
		if (d->inodes[i].id == id)
			return &d->inodes[i];
	abort();
}

static void push_length(struct inode *in, uint64_t len)
{
	if (in->length_count && in->lengths[in->length_count - 1] == len)
		return;
	if (!GROW(in->lengths, &in->length_cap, in->length_count + 1, SIZE_MAX))
		abort();
	in->lengths[in->length_count++] = len;
}

static struct block *block_of(struct inode *in, uint64_t index)
{
	if (!GROW(in->blocks, &in->block_cap, index + 1, SIZE_MAX))
		abort();
	while (in->block_count <= index)
		in->blocks[in->block_count++] = (struct block){0};
	return &in->blocks[index];
}

/* The newest content with a change on top; NULL data: zeros. */
static void push_version(struct inode *in, uint64_t index, size_t at, const uint8_t *data,
			 size_t len)
{
	struct block *b = block_of(in, index);
	uint8_t *p = must(calloc(1, BLOCK));

	if (!GROW(b->versions, &b->cap, b->count + 2, SIZE_MAX))
		abort();
	if (!b->count)
		b->versions[b->count++] = NULL;
	if (b->versions[b->count - 1])
		memcpy(p, b->versions[b->count - 1], BLOCK);
	if (data)
		memcpy(p + at, data, len);
	else
		memset(p + at, 0, len);
	b->versions[b->count++] = p;
}

static void write_data(struct inode *in, uint64_t off, const uint8_t *data, size_t len)
{
	if (off + len > in->lengths[in->length_count - 1])
		push_length(in, off + len);
	while (len) {
		size_t at = off % BLOCK, n = BLOCK - at < len ? BLOCK - at : len;

		push_version(in, off / BLOCK, at, data, n);
		off += n;
		len -= n;
		data = data ? data + n : NULL;
	}
}

static void set_length(struct inode *in, uint64_t len)
{
	uint64_t old = in->lengths[in->length_count - 1];

	/* What is cut reads as zeros when the file grows again. */
	for (uint64_t i = len / BLOCK; len < old && i < in->block_count; i++) {
		size_t at = i == len / BLOCK ? len % BLOCK : 0;

		if (in->blocks[i].count)
			push_version(in, i, at, NULL, BLOCK - at);
	}
	push_length(in, len);
}

/* Its newest content is durable. */
static void sync_block(struct block *b)
{
	for (size_t v = 0; v + 1 < b->count; v++)
		free(b->versions[v]);
	if (b->count)
		b->versions[0] = b->versions[b->count - 1];
	b->count = b->count ? 1 : 0;
}

static void sync_inode(struct inode *in)
{
	for (size_t i = 0; i < in->block_count; i++)
		sync_block(&in->blocks[i]);
	in->lengths[0] = in->lengths[in->length_count - 1];
	in->length_count = 1;
}

/* --- names ----------------------------------------------------------------------------------- */

static struct name *find_name(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (!strcmp(n->all[i].name, name))
			return &n->all[i];
	return NULL;
}

static void set_name(struct names *n, const char *name, uint64_t id)
{
	struct name *e = find_name(n, name);

	if (!e) {
		if (!GROW(n->all, &n->cap, n->count + 1, SIZE_MAX))
			abort();
		e = &n->all[n->count++];
		snprintf(e->name, sizeof(e->name), "%s", name);
	}
	e->id = id;
}

static void remove_name(struct names *n, const char *name)
{
	struct name *e = find_name(n, name);

	if (e)
		*e = n->all[--n->count];
}

static void apply_name(struct names *n, const struct crash_entry *e)
{
	switch (e->op) {
	case CRASH_CREATE:
		set_name(n, e->name, e->id);
		break;
	case CRASH_RENAME:
		remove_name(n, e->name);
		set_name(n, e->to, e->id);
		break;
	case CRASH_UNLINK:
		remove_name(n, e->name);
		break;
	default:
		break;
	}
}

struct crash_disk *crash_disk_new(const struct crash_log *l)
{
	struct crash_disk *d = must(calloc(1, sizeof(*d)));

	d->log = l;
	return d;
}

void crash_disk_free(struct crash_disk *d)
{
	for (size_t i = 0; i < d->inode_count; i++) {
		struct inode *in = &d->inodes[i];

		for (size_t k = 0; k < in->block_count; k++) {
			for (size_t v = 0; v < in->blocks[k].count; v++)
				free(in->blocks[k].versions[v]);
			free(in->blocks[k].versions);
		}
		free(in->blocks);
		free(in->lengths);
	}
	free(d->inodes);
	free(d->durable.all);
	free(d->pending);
	free(d);
}

bool crash_disk_step(struct crash_disk *d)
{
	const struct crash_entry *e;

	if (d->at == d->log->count)
		return false;
	e = &d->log->entries[d->at];
	switch (e->op) {
	case CRASH_WRITE:
		write_data(inode_of(d, e->id), e->off, e->data, e->len);
		break;
	case CRASH_WRITE_DURABLE:
		write_data(inode_of(d, e->id), e->off, e->data, e->len);
		for (uint64_t i = e->off / BLOCK; i * BLOCK < e->off + e->len; i++)
			sync_block(block_of(inode_of(d, e->id), i));
		/* What is needed to read it is durable too. */
		inode_of(d, e->id)->lengths[0] =
			inode_of(d, e->id)->lengths[inode_of(d, e->id)->length_count - 1];
		inode_of(d, e->id)->length_count = 1;
		break;
	case CRASH_LENGTH:
		set_length(inode_of(d, e->id), e->off);
		break;
	case CRASH_SYNC:
		sync_inode(inode_of(d, e->id));
		break;
	case CRASH_SYNC_DIR:
		for (size_t i = 0; i < d->pending_count; i++)
			apply_name(&d->durable, &d->log->entries[d->pending[i]]);
		d->pending_count = 0;
		break;
	case CRASH_MARK:
		break;
	case CRASH_CREATE:
		if (!GROW(d->inodes, &d->inode_cap, d->inode_count + 1, SIZE_MAX))
			abort();
		d->inodes[d->inode_count++] = (struct inode){.id = e->id};
		push_length(&d->inodes[d->inode_count - 1], 0);
		__attribute__((fallthrough));
	case CRASH_RENAME:
	case CRASH_UNLINK:
		if (!GROW(d->pending, &d->pending_cap, d->pending_count + 1, SIZE_MAX))
			abort();
		d->pending[d->pending_count++] = d->at;
		break;
	}
	d->at++;
	return true;
}

/* --- images ---------------------------------------------------------------------------------- */

/* Picks one of n: from the number of the way, or at random. */
struct choice {
	uint64_t left;
	uint64_t *seed; /* NULL: by number */
};

static size_t choose(struct choice *c, size_t n)
{
	size_t pick;

	if (c->seed)
		return (size_t)crash_random(c->seed, n);
	pick = (size_t)(c->left % n);
	c->left /= n;
	return pick;
}

/* In the order in which an image chooses. */
size_t crash_disk_ways(const struct crash_disk *d)
{
	size_t ways = 1;

	for (size_t i = 0; i < d->pending_count; i++)
		if (!CHECKED_MUL(ways, (size_t)2, &ways))
			return SIZE_MAX;
	for (size_t i = 0; i < d->inode_count; i++) {
		const struct inode *in = &d->inodes[i];

		if (!CHECKED_MUL(ways, in->length_count, &ways))
			return SIZE_MAX;
		for (size_t k = 0; k < in->block_count; k++)
			if (in->blocks[k].count > 1 &&
			    !CHECKED_MUL(ways, in->blocks[k].count, &ways))
				return SIZE_MAX;
	}
	return ways;
}

static void put_block(const struct block *b, size_t version, struct choice *c, uint8_t *to,
		      size_t len)
{
	uint8_t block[BLOCK] = {0};

	if (b->versions[version])
		memcpy(block, b->versions[version], BLOCK);
	/* Torn: the first sectors are of the next version. */
	if (c->seed && version + 1 < b->count && crash_random(c->seed, 3) == 0)
		memcpy(block, b->versions[version + 1],
		       SECTOR * (1 + crash_random(c->seed, BLOCK / SECTOR - 1)));
	memcpy(to, block, len);
}

static void fill_file(const struct inode *in, struct choice *c, struct crash_file *f)
{
	f->len = (size_t)in->lengths[choose(c, in->length_count)];
	f->p = must(calloc(1, f->len + 1));
	for (size_t k = 0; k < in->block_count; k++) {
		const struct block *b = &in->blocks[k];
		size_t at = k * BLOCK, version = b->count > 1 ? choose(c, b->count) : 0;

		if (b->count && at < f->len)
			put_block(b, version, c, f->p + at,
				  f->len - at < BLOCK ? f->len - at : BLOCK);
	}
}

void crash_disk_image(const struct crash_disk *d, uint64_t nth, uint64_t *seed,
		      struct crash_image *ret)
{
	struct choice c = {nth, nth == UINT64_MAX ? seed : NULL};
	struct names now = {0};

	for (size_t i = 0; i < d->durable.count; i++)
		set_name(&now, d->durable.all[i].name, d->durable.all[i].id);
	for (size_t i = 0; i < d->pending_count; i++)
		if (choose(&c, 2))
			apply_name(&now, &d->log->entries[d->pending[i]]);
	*ret = (struct crash_image){must(calloc(now.count + 1, sizeof(*ret->files))), 0};
	/* By inode, so that the choices are those that were counted. */
	for (size_t i = 0; i < d->inode_count; i++) {
		struct crash_file one = {0};

		fill_file(&d->inodes[i], &c, &one);
		for (size_t k = 0; k < now.count; k++) {
			struct crash_file *f;

			if (now.all[k].id != d->inodes[i].id)
				continue;
			f = &ret->files[ret->count++];
			snprintf(f->name, sizeof(f->name), "%s", now.all[k].name);
			f->len = one.len;
			f->p = memcpy(must(malloc(one.len + 1)), one.p, one.len);
		}
		free(one.p);
	}
	free(now.all);
}

void crash_image_done(struct crash_image *i)
{
	for (size_t k = 0; k < i->count; k++)
		free(i->files[k].p);
	free(i->files);
	*i = (struct crash_image){0};
}
