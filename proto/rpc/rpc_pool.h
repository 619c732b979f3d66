/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_POOL_H
#define RAWSTACK_RPC_POOL_H
/*
 * A fixed number of threads that run jobs, behind a queue bounded in jobs and in the bytes that
 * they hold. Clients with queued jobs take turns, one job each; the jobs of one client are run in
 * order of arrival. No client may take the last quarter of the queue, so that there is room for
 * another. Even when several clients have filled the queue, a client without a job there gets one
 * in, and one of the others loses its last. Safe from any thread.
 */
#include "base.h"
#include "err.h"

struct rpc_pool;

/* Embedded in the object that it works on, which has to live until run() was called. */
struct rpc_job {
	struct rpc_job *next;
	void (*run)(struct rpc_job *job);
	const char *what; /* a static string that names the work, for reports of stuck threads */
	size_t bytes;
	uint32_t client; /* any number; clients whose numbers are equal modulo 64 share a turn */
};

/* `name` is the threads' name for busy.h. */
int rpc_pool_open(struct rpc_pool **ret, const char *name, unsigned int threads, size_t max_jobs,
		  size_t max_bytes, struct err *err) _must_check_;

/* Returns false when the queue, or the client's part of it, is full. One job is always accepted,
 * however many bytes it holds. *ret_displaced is a job that was accepted before and will not run,
 * or NULL. */
bool rpc_pool_submit(struct rpc_pool *pool, struct rpc_job *job,
		     struct rpc_job **ret_displaced) _must_check_;

/* Runs the queued jobs, then joins the threads. Nothing may be submitted any more. */
void rpc_pool_close(struct rpc_pool *pool);

#endif
