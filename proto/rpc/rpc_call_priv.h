/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CALL_PRIV_H
#define RAWSTACK_RPC_CALL_PRIV_H
/* A call, as the two modules that make it see it: rpc_call.c drives it, rpc_backpressure.c ends it
 * when its peer holds a place, or memory, and does nothing. */
#include <pthread.h>
#include <stdatomic.h>

#include "arena.h"
#include "limits.h"
#include "rpc_call.h"
#include "rpc_pool.h"
#include "rpc_wait.h"

/* Replies of one call that wait for a slow reader. */
#define LIMIT_CALL_REPLIES LIMIT(64)

#define OWNER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/*
 * At most one receive, one send and one job are under way, and the close, which comes for every
 * call. Each holds a reference; gRPC's call is let go with the last one. All batches are started in
 * start(), under the lock, so that counting cannot be forgotten.
 */
struct rpc_call {
	struct rpc_calls *calls;
	grpc_call *call;
	const struct rpc_method *method;
	atomic_uint refs;
	atomic_bool cancelled;

	pthread_mutex_t lock;
	struct rpc_tag close_tag, receive_tag, send_tag;
	struct rpc_job job;

	int was_cancelled;          /* filled by gRPC at the close */
	grpc_byte_buffer *incoming; /* filled by gRPC at a receive, then the job's */
	bool incoming_end;          /* the job is a clean half-close */
	bool receiving, sending, working;
	bool telling;        /* `sent` runs */
	bool tell_again;     /* and replies were out once more meanwhile */
	bool receive_wanted; /* when all replies are out: that is the flow control */
	bool handled;        /* a handler has run */
	bool over, closed;   /* the close came; `closed` was called */
	bool broken;         /* sending failed: nothing more will get out */
	bool headers_wanted; /* before there is a reply */
	bool headers_sent, finish, finish_sent;
	bool sending_headers; /* what is being sent is the headers alone */
	int code;
	char message[ERR_MESSAGE_MAX];

	grpc_byte_buffer *replies[LIMIT_CALL_REPLIES]; /* a ring */
	size_t reply_first, reply_count;
	size_t sending_len, unread_len;  /* of the reply being sent; of all that are not out */
	struct rpc_wait asking, reading; /* the calls' lock is theirs, and that of unread_len */

	struct arena arena; /* of the request that is being handled */
	void *state;
};

/* The call's request is awaited: it holds a place and has nothing to show for it. */
void rpc_call_begin_asking(struct rpc_call *c);
void rpc_call_end_asking(struct rpc_call *c);

/*
 * Whether a reply of len bytes may be queued. Small ones always may. When too much is not read,
 * *ret_slow is a call that is to be ended for it, with a reference.
 */
bool rpc_call_begin_reading(struct rpc_call *c, size_t len, struct rpc_call **ret_slow);

/* So much of the call's replies is out. */
void rpc_call_end_reading(struct rpc_call *c, size_t len);

/* Cancels the call, without any lock; takes the reference. */
void rpc_call_end_silent(struct rpc_call *c);

#endif
