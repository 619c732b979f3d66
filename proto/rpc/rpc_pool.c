/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_pool.h"

#include <pthread.h>

struct rpc_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct rpc_job *head, **tail;
	size_t count, bytes;
	size_t max_count, max_bytes;
	bool closing;
	unsigned int thread_count;
	pthread_t threads[];
};

static void *worker(void *arg)
{
	struct rpc_pool *pool = arg;
	struct rpc_job *job;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->head && !pool->closing)
			pthread_cond_wait(&pool->wake, &pool->lock);
		job = pool->head;
		if (!job)
			break;
		pool->head = job->next;
		if (!pool->head)
			pool->tail = &pool->head;
		pool->count--;
		pool->bytes -= job->bytes;
		pthread_mutex_unlock(&pool->lock);
		job->run(job);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int rpc_pool_open(struct rpc_pool **ret, unsigned int threads, size_t max_jobs, size_t max_bytes,
		  struct err *err)
{
	struct rpc_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));

	if (!pool)
		return err_set(err, ERR_MEMORY, "out of memory");
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->tail = &pool->head;
	pool->max_count = max_jobs;
	pool->max_bytes = max_bytes;
	for (; pool->thread_count < threads; pool->thread_count++) {
		int rc = pthread_create(&pool->threads[pool->thread_count], NULL, worker, pool);

		if (rc) {
			rpc_pool_close(pool);
			return err_sys(err, rc, "worker thread");
		}
	}
	*ret = pool;
	return 0;
}

bool rpc_pool_submit(struct rpc_pool *pool, struct rpc_job *job)
{
	bool room;

	pthread_mutex_lock(&pool->lock);
	room = pool->count == 0 || (pool->count < pool->max_count && pool->bytes < pool->max_bytes);
	if (room) {
		job->next = NULL;
		*pool->tail = job;
		pool->tail = &job->next;
		pool->count++;
		pool->bytes += job->bytes;
		pthread_cond_signal(&pool->wake);
	}
	pthread_mutex_unlock(&pool->lock);
	return room;
}

void rpc_pool_close(struct rpc_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
