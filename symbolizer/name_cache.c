/* SPDX-License-Identifier: Apache-2.0 */
#include "name_cache.h"

#include <pthread.h>

#include "id_map.h"

/*
 * Two halves. New texts go into the young one; when that is full the old one is dropped and the
 * young one becomes old. A text found in the old half is copied into the young one, so that what is
 * asked for stays.
 */
enum {
	KIND_BITS = 2,
	TEXT_COST = 48, /* of a text beside its bytes: its slot, at the map's worst load */
	LONGEST_SHARE = 8,
	GROUP = 16, /* texts whose memory is fetched ahead */
};

struct half {
	struct id_map ids; /* (number, string and kind) -> offset */
	struct buf texts;  /* length (32 bits), bytes */
};

struct name_cache {
	size_t half_max;
	pthread_rwlock_t lock;
	struct half young, old;
};

struct name_cache *name_cache_new(size_t max_bytes, struct err *err)
{
	struct name_cache *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(err, ERR_MEMORY, "out of memory");
		return NULL;
	}
	c->half_max = max_bytes / 2;
	pthread_rwlock_init(&c->lock, NULL);
	c->young = (struct half){ID_MAP_INIT(c->half_max / TEXT_COST), BUF_INIT(c->half_max)};
	c->old = c->young;
	return c;
}

static void half_done(struct half *h)
{
	id_map_done(&h->ids);
	buf_done(&h->texts);
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	half_done(&c->young);
	half_done(&c->old);
	pthread_rwlock_destroy(&c->lock);
	free(c);
}

static bool key_of(const struct name_ask *a, uint32_t *ret)
{
	*ret = a->string << KIND_BITS | a->kind;
	return a->string <= UINT32_MAX >> KIND_BITS;
}

/* Where the text of each stands; NULL for those that are not there. */
static void find(struct name_cache *c, uint64_t number, struct name_ask *asks, size_t count,
		 const uint8_t **at)
{
	uint32_t key;

	for (size_t i = 0; i < count; i++)
		if (key_of(&asks[i], &key))
			id_map_fetch(&c->young.ids, number, key);
	for (size_t i = 0; i < count; i++) {
		const uint32_t *off = NULL;
		struct half *h = &c->young;

		if (key_of(&asks[i], &key)) {
			off = id_map_find(&h->ids, number, key);
			if (!off)
				off = id_map_find(&(h = &c->old)->ids, number, key);
		}
		at[i] = off ? h->texts.p + *off : NULL;
		asks[i].found = off != NULL;
		asks[i].old = off && h == &c->old;
		if (off) {
			__builtin_prefetch(at[i]);
			__builtin_prefetch(at[i] + 64);
		}
	}
}

static bool copy(struct name_ask *asks, size_t count, const uint8_t *const *at, struct buf *to,
		 bool *any_old)
{
	for (size_t i = 0; i < count; i++) {
		if (!at[i])
			continue;
		memcpy(&asks[i].len, at[i], sizeof(asks[i].len));
		asks[i].off = (uint32_t)to->len;
		*any_old = *any_old || asks[i].old;
		if (buf_append(to, at[i] + sizeof(asks[i].len), asks[i].len))
			continue;
		for (; i < count; i++)
			asks[i].found = asks[i].old = false;
		return false;
	}
	return true;
}

/* With the lock held for writing. */
static void add(struct name_cache *c, uint64_t number, const struct name_ask *a,
		const struct buf *from)
{
	struct half *h = &c->young;
	uint32_t *at, key;
	bool is_new;

	if (!key_of(a, &key) || a->len > c->half_max / LONGEST_SHARE)
		return;
	if (h->texts.len + h->ids.count * TEXT_COST + a->len + TEXT_COST > c->half_max) {
		struct half dropped = c->old;

		c->old = c->young;
		/* Its memory serves again. */
		id_map_reset(&dropped.ids);
		buf_reset(&dropped.texts);
		c->young = dropped;
	}
	at = id_map_add(&h->ids, number, key, &is_new);
	if (!at || !is_new)
		return;
	*at = (uint32_t)h->texts.len;
	buf_u32(&h->texts, a->len);
	buf_append(&h->texts, from->p + a->off, a->len);
	if (h->texts.failed) /* out of memory: begin anew */
		half_done(h);
}

bool name_cache_get(struct name_cache *c, uint64_t number, struct name_ask *asks, size_t count,
		    struct buf *to)
{
	const uint8_t *at[GROUP];
	bool any_old = false, fits = true;

	for (size_t i = 0; i < count; i++)
		asks[i].found = asks[i].old = false;
	if (!c)
		return true;
	pthread_rwlock_rdlock(&c->lock);
	for (size_t i = 0; fits && i < count; i += GROUP) {
		size_t n = count - i < GROUP ? count - i : GROUP;

		find(c, number, asks + i, n, at);
		fits = copy(asks + i, n, at, to, &any_old);
	}
	pthread_rwlock_unlock(&c->lock);
	if (!any_old)
		return fits;
	pthread_rwlock_wrlock(&c->lock);
	for (size_t i = 0; i < count; i++)
		if (asks[i].old)
			add(c, number, &asks[i], to);
	pthread_rwlock_unlock(&c->lock);
	return fits;
}

void name_cache_put(struct name_cache *c, uint64_t number, const struct name_ask *asks,
		    size_t count, const struct buf *from)
{
	if (!c)
		return;
	pthread_rwlock_wrlock(&c->lock);
	for (size_t i = 0; i < count; i++)
		if (!asks[i].found)
			add(c, number, &asks[i], from);
	pthread_rwlock_unlock(&c->lock);
}
