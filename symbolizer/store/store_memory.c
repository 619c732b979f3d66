/* SPDX-License-Identifier: Apache-2.0 */
/* The engine in memory, which tests compare with LMDB: sorted arrays under a reader-writer lock. */
#include <pthread.h>
#include <string.h>

#include "bisect.h"
#include "store_kv.h"

struct pair {
	uint8_t *key, *value;
	size_t key_len, value_len;
};

struct sorted {
	struct pair *pairs;
	size_t count, cap;
};

struct kv_memory {
	struct kv kv;
	pthread_rwlock_t lock;
	uint64_t used, max;
	struct sorted tables[KV_TABLE_COUNT];
};

struct kv_read {
	struct kv_memory *m;
};

static int compare_pair(const struct pair *p, struct kv_bytes key)
{
	size_t len = p->key_len < key.len ? p->key_len : key.len;
	int c = memcmp(p->key, key.p, len);

	return c ? c : p->key_len < key.len ? -1 : p->key_len > key.len;
}

/* Returns the first position whose key is not below `key`. */
static size_t pair_position(const struct sorted *t, struct kv_bytes key, bool *ret_equal)
{
	size_t at = BISECT(t->count, i, compare_pair(&t->pairs[i], key) < 0);

	*ret_equal = at < t->count && compare_pair(&t->pairs[at], key) == 0;
	return at;
}

static int memory_read_begin(struct kv *kv, struct kv_read **ret, struct err *err)
{
	struct kv_read *r = malloc(sizeof(*r));

	if (!r)
		return err_no_memory(err);
	r->m = (struct kv_memory *)kv;
	pthread_rwlock_rdlock(&r->m->lock);
	*ret = r;
	return 0;
}

static void memory_read_end(struct kv_read *r)
{
	pthread_rwlock_unlock(&r->m->lock);
	free(r);
}

static int memory_get(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		      struct kv_bytes *ret, struct err *err _unused_)
{
	const struct sorted *t = &r->m->tables[table];
	bool equal;
	size_t i = pair_position(t, key, &equal);

	if (!equal)
		return 0;
	*ret = (struct kv_bytes){t->pairs[i].value, t->pairs[i].value_len};
	return 1;
}

static int memory_next(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		       struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err _unused_)
{
	const struct sorted *t = &r->m->tables[table];
	bool equal = false;
	size_t i = after.len ? pair_position(t, after, &equal) : 0;

	i += equal;
	if (i == t->count)
		return 0;
	*ret_key = (struct kv_bytes){t->pairs[i].key, t->pairs[i].key_len};
	*ret = (struct kv_bytes){t->pairs[i].value, t->pairs[i].value_len};
	return 1;
}

static uint64_t pair_len(const struct pair *p)
{
	return p->key_len + p->value_len;
}

static void erase_pair(struct kv_memory *m, struct sorted *t, size_t i)
{
	m->used -= pair_len(&t->pairs[i]);
	free(t->pairs[i].key);
	free(t->pairs[i].value);
	memmove(&t->pairs[i], &t->pairs[i + 1], (--t->count - i) * sizeof(t->pairs[0]));
}

static int apply_write(struct kv_memory *m, const struct kv_write *w, struct err *err)
{
	struct sorted *t = &m->tables[w->table];
	struct pair p = {malloc(w->key.len), malloc(w->value.len + 1), w->key.len, w->value.len};
	bool equal;
	size_t i;

	if (!p.key || !p.value || !GROW(t->pairs, &t->cap, t->count + 1, SIZE_MAX)) {
		free(p.key);
		free(p.value);
		return err_no_memory(err);
	}
	i = pair_position(t, w->key, &equal);
	if (equal)
		erase_pair(m, t, i);
	if (!w->value.p) {
		free(p.key);
		free(p.value);
		return 0;
	}
	memcpy(p.key, w->key.p, p.key_len);
	memcpy(p.value, w->value.p, p.value_len);
	memmove(&t->pairs[i + 1], &t->pairs[i], (t->count++ - i) * sizeof(t->pairs[0]));
	t->pairs[i] = p;
	m->used += pair_len(&p);
	return 0;
}

static int memory_commit(struct kv *kv, const struct kv_write *writes, size_t count,
			 struct err *err)
{
	struct kv_memory *m = (struct kv_memory *)kv;
	uint64_t after;
	int rc = 0;

	pthread_rwlock_wrlock(&m->lock);
	after = m->used;
	for (size_t i = 0; i < count; i++) {
		const struct kv_write *w = &writes[i];
		struct sorted *t = &m->tables[w->table];
		bool equal;
		size_t at = pair_position(t, w->key, &equal);

		if (equal)
			after -= pair_len(&t->pairs[at]);
		if (w->value.p)
			after += w->key.len + w->value.len;
	}
	if (after > m->max)
		rc = err_set(err, ERR_LIMIT, "the store is full");
	for (size_t i = 0; i < count && !rc; i++)
		rc = apply_write(m, &writes[i], err);
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

/* Commits of this engine wait for snapshots anyway. */
static bool memory_settle(struct kv *kv _unused_, unsigned int timeout_ms _unused_)
{
	return true;
}

static bool memory_has_room(struct kv *kv _unused_, uint64_t bytes _unused_)
{
	return true;
}

static void memory_stat(struct kv *kv _unused_, struct kv_stat *ret)
{
	*ret = (struct kv_stat){0};
}

static int memory_copy(struct kv *kv _unused_, int fd _unused_, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "a store in memory has no file");
}

static bool memory_maintain(struct kv *kv _unused_)
{
	return false;
}

static void memory_close(struct kv *kv)
{
	struct kv_memory *m = (struct kv_memory *)kv;

	for (size_t t = 0; t < KV_TABLE_COUNT; t++) {
		while (m->tables[t].count)
			erase_pair(m, &m->tables[t], m->tables[t].count - 1);
		free(m->tables[t].pairs);
	}
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

int store_kv_open_memory(struct kv **ret, uint64_t max_bytes, struct err *err)
{
	static const struct kv_ops ops = {
		.read_begin = memory_read_begin,
		.read_end = memory_read_end,
		.get = memory_get,
		.next = memory_next,
		.commit = memory_commit,
		.settle = memory_settle,
		.has_room = memory_has_room,
		.stat = memory_stat,
		.copy = memory_copy,
		.maintain = memory_maintain,
		.close = memory_close,
	};
	struct kv_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return err_no_memory(err);
	m->kv.ops = &ops;
	m->max = max_bytes;
	pthread_rwlock_init(&m->lock, NULL);
	*ret = &m->kv;
	return 0;
}
