/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize_pool.h"

#include <pthread.h>

enum {
	IDLE_MAX = 16
};

struct symbolize_pool {
	pthread_mutex_t lock;
	struct symbolize *idle[IDLE_MAX];
	size_t bytes[IDLE_MAX];
	size_t count, total, max;
	size_t unused; /* how many, from the first on, nobody took since the last aging */
	uint64_t uses;
};

struct symbolize_pool *symbolize_pool_new(size_t max_bytes, struct err *err)
{
	struct symbolize_pool *p = calloc(1, sizeof(*p));

	if (!p) {
		err_no_memory(err);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->max = max_bytes;
	return p;
}

void symbolize_pool_free(struct symbolize_pool *p)
{
	if (!p)
		return;
	while (p->count)
		symbolize_free(p->idle[--p->count]);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct symbolize *symbolize_pool_get(struct symbolize_pool *p, struct err *err)
{
	struct symbolize *s = NULL;

	pthread_mutex_lock(&p->lock);
	p->uses++;
	if (p->count) {
		s = p->idle[--p->count];
		p->total -= p->bytes[p->count];
	}
	if (p->unused > p->count)
		p->unused = p->count;
	pthread_mutex_unlock(&p->lock);
	return s ? s : symbolize_new(false, err);
}

void symbolize_pool_put(struct symbolize_pool *p, struct symbolize *s)
{
	size_t bytes;

	if (!s)
		return;
	bytes = symbolize_memory(s);
	pthread_mutex_lock(&p->lock);
	if (p->count < IDLE_MAX && bytes <= p->max - p->total) {
		p->idle[p->count] = s;
		p->bytes[p->count++] = bytes;
		p->total += bytes;
		s = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	symbolize_free(s);
}

/* The last one put is the first one taken, so those at the bottom are the ones left over. */
void symbolize_pool_age(struct symbolize_pool *p)
{
	struct symbolize *left[IDLE_MAX];
	size_t count;

	pthread_mutex_lock(&p->lock);
	count = p->unused;
	for (size_t i = 0; i < count; i++) {
		left[i] = p->idle[i];
		p->total -= p->bytes[i];
	}
	p->count -= count;
	for (size_t i = 0; i < p->count; i++) {
		p->idle[i] = p->idle[i + count];
		p->bytes[i] = p->bytes[i + count];
	}
	p->unused = p->count;
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < count; i++)
		symbolize_free(left[i]);
}

size_t symbolize_pool_memory(struct symbolize_pool *p)
{
	size_t total;

	pthread_mutex_lock(&p->lock);
	total = p->total;
	pthread_mutex_unlock(&p->lock);
	return total;
}

uint64_t symbolize_pool_uses(struct symbolize_pool *p)
{
	uint64_t uses;

	pthread_mutex_lock(&p->lock);
	uses = p->uses;
	pthread_mutex_unlock(&p->lock);
	return uses;
}
