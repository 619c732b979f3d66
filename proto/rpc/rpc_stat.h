/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_STAT_H
#define RAWSTACK_RPC_STAT_H
/*
 * Counts the calls of a server: for each method the statuses and the time from beginning to end,
 * how long requests wait for a worker, and why calls were refused before any handler saw them.
 * Internal to proto/rpc; rpc_server_metrics() writes it. Counting is safe from any thread.
 */
#include <grpc/status.h>

#include "histogram.h"
#include "openmetrics.h"
#include "rpc_method.h"

#define RPC_STATUSES (GRPC_STATUS_UNAUTHENTICATED + 1)

enum {
	RPC_STAT_METHODS = 32
};

/* Why the transport refuses a call or ends it. */
enum rpc_refused {
	RPC_REFUSED_CALLS,    /* more than LIMIT_CALLS at a time */
	RPC_REFUSED_METHOD,   /* nothing serves it */
	RPC_REFUSED_IDENTITY, /* nobody knows who calls */
	RPC_REFUSED_ROLE,     /* the caller has no role for it */
	RPC_REFUSED_QUOTA,    /* the caller's quota of requests or bytes is used up */
	RPC_REFUSED_QUEUE,    /* too many requests wait for a worker */
	RPC_REFUSED_TURN,     /* it waited for a worker, and gave its place to another client's */
	RPC_REFUSED_REQUEST,  /* its request cannot be read */
	RPC_REFUSED_SILENT,   /* it held a place or unread replies for too long */
	RPC_REFUSALS
};

const char *rpc_status_name(grpc_status_code status);

struct rpc_stat_row {
	const struct rpc_method *method; /* NULL: calls of methods that are not served */
	_Atomic uint64_t statuses[RPC_STATUSES];
	struct histogram seconds;
};

/* All zero bytes are one without methods. */
struct rpc_stat {
	struct rpc_stat_row other, rows[RPC_STAT_METHODS];
	size_t row_count;
	struct histogram waits;
	_Atomic uint64_t refusals[RPC_REFUSALS];
};

/* Adds methods, before the first call; those beyond RPC_STAT_METHODS count as not served. */
void rpc_stat_add(struct rpc_stat *s, const struct rpc_method *methods, size_t count);

/* Returns the row of a method, or of NULL. */
struct rpc_stat_row *rpc_stat_row(struct rpc_stat *s, const struct rpc_method *method);

void rpc_stat_count(struct rpc_stat_row *row, grpc_status_code status, uint64_t begin_ns);
void rpc_stat_refuse(struct rpc_stat *s, enum rpc_refused why);

void rpc_stat_write(struct rpc_stat *s, struct openmetrics *m);

#endif
