/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CALL_H
#define RAWSTACK_RPC_CALL_H
/*
 * One call on the server side: which gRPC operations are under way on it, and which event its
 * handlers see next. Internal to proto/rpc; handlers use rpc_method.h.
 */
#include <grpc/grpc.h>
#include <pthread.h>

#include "rpc_method.h"
#include "rpc_wait.h"

struct rpc_pool;

/* What a completion queue gives back: each operation has one of these inside its owner. */
struct rpc_tag {
	void (*done)(struct rpc_tag *tag, bool ok);
};

/* What calls need of their server. `live` counts calls whose memory is still there. */
struct rpc_calls {
	struct rpc_pool *pool, *apart; /* the second of methods that are */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t live;
	/* Those whose peers are silent: no message has come, no further one, a reply is not read.
	 */
	struct rpc_waits begun, idle, unread;
	size_t unread_len; /* of replies that are queued or on their way */
};

/* Ends a call whose peer has been silent for long, so that there is a place for another. False when
 * there is none. */
bool rpc_calls_make_place(struct rpc_calls *calls);

/*
 * Takes over an accepted call and sees it through to its end. method NULL: refused with code and
 * message at once, as is everything when memory is out.
 */
void rpc_call_begin(struct rpc_calls *calls, grpc_call *call, const struct rpc_method *method,
		    int refuse_code, const char *refuse_message);

#endif
