/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CLIENT_PRIV_H
#define RAWSTACK_RPC_CLIENT_PRIV_H
/* State shared by rpc_client.c, which knows the servers, and rpc_stream.c, which makes calls.
 * Private to the two. */
#include <grpc/grpc.h>

#include "rpc_channel.h"
#include "rpc_client.h"
#include "rpc_failure.h"
#include "rpc_servers.h"

/*
 * A client has one completion queue and waits by grpc_completion_queue_pluck(): it starts a batch
 * of operations and waits for the end of that batch, so that no thread and no lock is needed here.
 * When the deadline of a call passes, gRPC completes everything that was started on the call. A
 * thread of gRPC does that, and gRPC goes on without an error if it could not start its threads. So
 * each wait also has a limit of its own, which is later than the deadline.
 */
struct rpc_client {
	struct rpc_servers *servers;
	struct rpc_identity *identity;
	size_t at; /* number of the server that the channel leads to */
	struct rpc_channel *channel;
	grpc_completion_queue *cq;
	enum rpc_reach reach; /* of the last call */
	uint32_t retry_ms;    /* the last call is to be made again after this time; 0: unknown */
	bool is_late;         /* a deadline passed and gRPC did not notice: it lacks threads */
	bool is_stuck;        /* a batch that was started never completes */
};

/* Makes the channel lead to another server. Without memory it stays as it is. */
void rpc_client_use(struct rpc_client *c, size_t number);

/* Notes how far a call came, and what that says of the server. `why` is the error, or NULL. */
void rpc_client_note(struct rpc_client *c, enum rpc_reach reach, const char *why);

/* Returns the time that is `ms` from now, by the monotonic clock. */
gpr_timespec rpc_client_time(uint32_t ms);
/* Returns the time until which a wait goes on for something that the deadline should have ended. */
gpr_timespec rpc_client_late(gpr_timespec deadline);

#endif
