/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_POOL_H
#define RAWSTACK_RPC_POOL_H
/*
 * A fixed number of threads that run jobs, behind a queue bounded in jobs and in the bytes that
 * they hold. Clients take turns: of those with something queued each gets one job done, then the
 * next client; the jobs of one are done in order of arrival. No client may take the last quarter of
 * the queue, so that there is room for another. Whoever has no job there has one taken also when
 * several others have filled it: one of them loses its last. Safe from any thread.
 */
#include "base.h"
#include "err.h"

struct rpc_pool;

/* Embedded in what it works on; it must stay until run() was called. */
struct rpc_job {
	struct rpc_job *next;
	void (*run)(struct rpc_job *job);
	const char *what; /* for whoever looks which thread is stuck; lasts */
	size_t bytes;
	uint32_t client; /* any number; those that are equal modulo 64 share a turn */
};

/* name: of the threads, for busy.h. */
int rpc_pool_open(struct rpc_pool **ret, const char *name, unsigned int threads, size_t max_jobs,
		  size_t max_bytes, struct err *err) _must_check_;

/* False when the queue, or the client's part of it, is full. One job is always taken, however many
 * bytes it holds. *ret_displaced: a job that was taken before and is not going to run, or NULL. */
bool rpc_pool_submit(struct rpc_pool *pool, struct rpc_job *job,
		     struct rpc_job **ret_displaced) _must_check_;

/* Runs what is queued, then joins the threads. Nothing may be submitted any more. */
void rpc_pool_close(struct rpc_pool *pool);

#endif
