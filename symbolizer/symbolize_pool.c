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
};

struct symbolize_pool *symbolize_pool_new(size_t max_bytes, struct err *err)
{
	struct symbolize_pool *p = calloc(1, sizeof(*p));

	if (!p) {
		err_set(err, ERR_MEMORY, "out of memory");
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
	if (p->count) {
		s = p->idle[--p->count];
		p->total -= p->bytes[p->count];
	}
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
