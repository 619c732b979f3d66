/* SPDX-License-Identifier: Apache-2.0 */
#include "name_cache.h"

#include <pthread.h>

#include "id_map.h"

/*
 * The cache has two halves. New texts go into the young one; when that is full, the old one is
 * dropped and the young one becomes the old one. A text found in the old half is copied into the
 * young one, so that texts in use stay.
 */
enum {
	KIND_BITS = 2,
	TEXT_COST = 48, /* memory of a text besides its bytes: its slot, at the map's worst load */
	LONGEST_SHARE = 8,
	AHEAD = 16, /* texts between the steps of a lookup, each of which prefetches for the next */
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
		err_no_memory(err);
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

static bool name_key_of(const struct name_ask *a, uint32_t *ret)
{
	*ret = a->string << KIND_BITS | a->kind;
	return a->string <= UINT32_MAX >> KIND_BITS;
}

/* A text between the steps of its lookup. Each step would wait for memory that is seldom cached. */
struct step {
	size_t hash;
	const uint8_t *at; /* NULL if the cache lacks it */
};

static void find_cached_name(struct name_cache *c, uint64_t number, struct name_ask *a,
			     struct step *step)
{
	const uint32_t *off = NULL;
	struct half *h = &c->young;
	uint32_t key;

	if (name_key_of(a, &key)) {
		off = id_map_find(&h->ids, step->hash, number, key);
		if (!off)
			off = id_map_find(&(h = &c->old)->ids, step->hash, number, key);
	}
	step->at = off ? h->texts.p + *off : NULL;
	a->old = off && h == &c->old;
	if (off) {
		__builtin_prefetch(step->at);
		__builtin_prefetch(step->at + 64);
	}
}

static bool copy_cached_name(struct name_ask *a, const uint8_t *at, struct buf *to)
{
	if (!at)
		return true;
	memcpy(&a->len, at, sizeof(a->len));
	a->off = (uint32_t)to->len;
	a->found = buf_append(to, at + sizeof(a->len), a->len);
	a->old = a->old && a->found;
	return a->found;
}

/* The caller holds the lock for writing. */
static void add_cached_name(struct name_cache *c, uint64_t number, const struct name_ask *a,
			    const struct buf *from)
{
	struct half *h = &c->young;
	uint32_t *at, key;
	bool is_new;

	if (!name_key_of(a, &key) || a->len > c->half_max / LONGEST_SHARE)
		return;
	if (h->texts.len + h->ids.count * TEXT_COST + a->len + TEXT_COST > c->half_max) {
		struct half dropped = c->old;

		c->old = c->young;
		/* The memory of the dropped half is used again. */
		id_map_reset(&dropped.ids);
		buf_reset(&dropped.texts);
		c->young = dropped;
	}
	at = id_map_add(&h->ids, id_map_hash(number, key), number, key, &is_new);
	if (!at || !is_new)
		return;
	*at = (uint32_t)h->texts.len;
	buf_u32(&h->texts, a->len);
	buf_append(&h->texts, from->p + a->off, a->len);
	if (h->texts.failed) /* out of memory: begin anew */
		half_done(h);
}

/* The caller holds the lock for reading. */
static bool get_cached_names(struct name_cache *c, uint64_t number, struct name_ask *asks,
			     size_t count, struct buf *to)
{
	struct step steps[2 * AHEAD];
	uint32_t key;

	for (size_t i = 0; i < count + 2 * AHEAD; i++) {
		struct step *step = &steps[i % (2 * AHEAD)];

		/* The oldest step goes first, because the newest takes its place. */
		if (i >= 2 * AHEAD && !copy_cached_name(&asks[i - 2 * AHEAD], step->at, to)) {
			for (size_t k = i - 2 * AHEAD; k < count; k++)
				asks[k].old = false;
			return false;
		}
		if (i < count) {
			name_key_of(&asks[i], &key);
			step->hash = id_map_hash(number, key);
			id_map_fetch(&c->young.ids, step->hash);
		}
		if (i >= AHEAD && i - AHEAD < count)
			find_cached_name(c, number, &asks[i - AHEAD],
					 &steps[(i - AHEAD) % (2 * AHEAD)]);
	}
	return true;
}

bool name_cache_get(struct name_cache *c, uint64_t number, struct name_ask *asks, size_t count,
		    struct buf *to)
{
	bool any_old = false, fits;

	for (size_t i = 0; i < count; i++)
		asks[i].found = asks[i].old = false;
	if (!c)
		return true;
	pthread_rwlock_rdlock(&c->lock);
	fits = get_cached_names(c, number, asks, count, to);
	pthread_rwlock_unlock(&c->lock);
	for (size_t i = 0; i < count && !any_old; i++)
		any_old = asks[i].old;
	if (!any_old)
		return fits;
	pthread_rwlock_wrlock(&c->lock);
	for (size_t i = 0; i < count; i++)
		if (asks[i].old)
			add_cached_name(c, number, &asks[i], to);
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
			add_cached_name(c, number, &asks[i], from);
	pthread_rwlock_unlock(&c->lock);
}

void name_cache_age(struct name_cache *c)
{
	struct half dropped;

	pthread_rwlock_wrlock(&c->lock);
	dropped = c->old;
	c->old = c->young;
	c->young = (struct half){ID_MAP_INIT(c->half_max / TEXT_COST), BUF_INIT(c->half_max)};
	pthread_rwlock_unlock(&c->lock);
	half_done(&dropped);
}

static size_t half_memory(const struct half *h)
{
	return h->ids.slot_count * sizeof(h->ids.slots[0]) + h->texts.cap;
}

size_t name_cache_memory(struct name_cache *c)
{
	size_t bytes;

	pthread_rwlock_rdlock(&c->lock);
	bytes = half_memory(&c->young) + half_memory(&c->old);
	pthread_rwlock_unlock(&c->lock);
	return bytes;
}
