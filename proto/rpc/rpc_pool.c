/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_pool.h"

#include <pthread.h>

#include "busy.h"

enum {
	LANES = 64
};

/* The queued jobs of the clients whose numbers are equal modulo LANES. */
struct lane {
	struct rpc_job *head, **tail;
	size_t count, bytes;
};

struct rpc_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct lane lanes[LANES];
	uint64_t waiting;  /* a bit for each lane that has jobs */
	unsigned int next; /* the lane whose turn it is */
	size_t count, bytes;
	size_t max_count, max_bytes;
	bool closing;
	const char *name;
	unsigned int thread_count;
	pthread_t threads[];
};

/* Takes the first job of the next lane that has one. Returns NULL when there is none. */
static struct rpc_job *take_job(struct rpc_pool *pool)
{
	uint64_t from_next = pool->waiting >> pool->next << pool->next;
	unsigned int i;
	struct rpc_job *job;
	struct lane *lane;

	if (!pool->waiting)
		return NULL;
	i = (unsigned int)__builtin_ctzll(from_next ? from_next : pool->waiting);
	pool->next = (i + 1) % LANES;
	lane = &pool->lanes[i];
	job = lane->head;
	lane->head = job->next;
	if (!lane->head) {
		lane->tail = &lane->head;
		pool->waiting &= ~(UINT64_C(1) << i);
	}
	lane->count--;
	lane->bytes -= job->bytes;
	pool->count--;
	pool->bytes -= job->bytes;
	return job;
}

static void *run_pool_worker(void *arg)
{
	struct rpc_pool *pool = arg;
	struct rpc_job *job;
	struct busy busy;

	busy_add(&busy, pool->name);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->count && !pool->closing)
			pthread_cond_wait(&pool->wake, &pool->lock);
		job = take_job(pool);
		if (!job)
			break;
		pthread_mutex_unlock(&pool->lock);
		busy_begin(&busy, job->what);
		job->run(job);
		busy_end(&busy);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	busy_remove(&busy);
	return NULL;
}

int rpc_pool_open(struct rpc_pool **ret, const char *name, unsigned int threads, size_t max_jobs,
		  size_t max_bytes, struct err *err)
{
	struct rpc_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));

	if (!pool)
		return err_no_memory(err);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	for (size_t i = 0; i < LANES; i++)
		pool->lanes[i].tail = &pool->lanes[i].head;
	pool->name = name;
	pool->max_count = max_jobs;
	pool->max_bytes = max_bytes;
	for (; pool->thread_count < threads; pool->thread_count++) {
		int rc = pthread_create(&pool->threads[pool->thread_count], NULL, run_pool_worker,
					pool);

		if (rc) {
			rpc_pool_close(pool);
			return err_sys(err, rc, "worker thread");
		}
	}
	*ret = pool;
	return 0;
}

static bool has_waiting(const struct lane *lane, uint32_t client)
{
	for (const struct rpc_job *job = lane->head; job; job = job->next)
		if (job->client == client)
			return true;
	return false;
}

static bool pool_is_full(const struct rpc_pool *pool)
{
	return pool->count >= pool->max_count || pool->bytes >= pool->max_bytes;
}

/* Takes the last job of the client that comes first in the fullest lane. Returns NULL when that
 * client has only one job there. */
static struct rpc_job *displace_job(struct rpc_pool *pool)
{
	struct lane *fullest = &pool->lanes[0];
	struct rpc_job **at, **last = NULL, *job;
	bool by_bytes = pool->count < pool->max_count;

	for (unsigned int i = 1; i < LANES; i++)
		if (by_bytes ? pool->lanes[i].bytes > fullest->bytes
			     : pool->lanes[i].count > fullest->count)
			fullest = &pool->lanes[i];
	if (fullest->count < 2)
		return NULL;
	for (at = &fullest->head->next; *at; at = &(*at)->next)
		if ((*at)->client == fullest->head->client)
			last = at;
	if (!last)
		return NULL;
	job = *last;
	*last = job->next;
	if (!job->next)
		fullest->tail = last;
	fullest->count--;
	fullest->bytes -= job->bytes;
	pool->count--;
	pool->bytes -= job->bytes;
	return job;
}

/* Returns whether the lane takes another job of the client. A client that has no job in a full lane
 * only shares the lane with the client that filled it, and is not refused for that. */
static bool lane_has_room(const struct rpc_pool *pool, const struct lane *lane, uint32_t client)
{
	if (pool->count == 0)
		return true;
	if (pool_is_full(pool))
		return false;
	return (lane->count < pool->max_count - pool->max_count / 4 &&
		lane->bytes < pool->max_bytes - pool->max_bytes / 4) ||
	       !has_waiting(lane, client);
}

bool rpc_pool_submit(struct rpc_pool *pool, struct rpc_job *job, struct rpc_job **ret_displaced)
{
	unsigned int i = job->client % LANES;
	struct lane *lane = &pool->lanes[i];
	bool room;

	*ret_displaced = NULL;
	pthread_mutex_lock(&pool->lock);
	room = lane_has_room(pool, lane, job->client);
	if (!room && pool_is_full(pool) && !has_waiting(lane, job->client)) {
		*ret_displaced = displace_job(pool);
		room = *ret_displaced != NULL;
	}
	if (room) {
		job->next = NULL;
		*lane->tail = job;
		lane->tail = &job->next;
		lane->count++;
		lane->bytes += job->bytes;
		pool->waiting |= UINT64_C(1) << i;
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
