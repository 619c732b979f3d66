/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CALL_H
#define RAWSTACK_RPC_CALL_H
/*
 * One call on the server side: which gRPC operations are under way on it, and which event its
 * handlers see next. Internal to proto/rpc; handlers use rpc_method.h.
 */
#include <grpc/grpc.h>
#include <pthread.h>

#include "rpc_gate.h"
#include "rpc_method.h"
#include "rpc_stat.h"
#include "rpc_wait.h"

struct rpc_pool;

/* The tag of an operation, which a completion queue gives back. It is embedded in its owner. */
struct rpc_tag {
	void (*done)(struct rpc_tag *tag, bool ok);
};

/* The part of the server that its calls need. `live` counts calls that are not freed yet. */
struct rpc_calls {
	struct rpc_pool *pool, *apart; /* `apart` runs the methods that are `apart` */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t live;
	struct rpc_stat *stat;    /* borrowed */
	_Atomic uint64_t numbers; /* the number of the next call */
	struct rpc_gate *gate;    /* borrowed; NULL: everybody may call everything */
	/* Calls whose peer is silent: it has sent no message yet, it sends no further one, or it
	 * does not read a reply. */
	struct rpc_waits begun, idle, unread;
	size_t unread_len; /* bytes of replies that are queued or being sent */
};

/* Ends a call whose peer has been silent for long, so that there is a place for another. Returns
 * false when there is no such call. */
bool rpc_calls_make_place(struct rpc_calls *calls);

/*
 * Takes over an accepted call and runs it to its end. With a refuse_code the call is refused
 * at once with it and the message; method may be NULL then. The pass is copied, and given back at
 * the end. Every call is refused when memory is out.
 */
void rpc_call_begin(struct rpc_calls *calls, grpc_call *call, const struct rpc_method *method,
		    const struct rpc_pass *pass, int refuse_code, const char *refuse_message);

#endif
