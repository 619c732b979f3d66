/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CALL_PRIV_H
#define RAWSTACK_RPC_CALL_PRIV_H
/* A call, as seen by the two modules that implement it: rpc_call.c drives it, and
 * rpc_backpressure.c ends it when its peer holds a place or memory and is silent. */
#include <pthread.h>
#include <stdatomic.h>

#include "access.h"
#include "arena.h"
#include "limits.h"
#include "rpc_call.h"
#include "rpc_pool.h"
#include "rpc_wait.h"

/* The most replies of one call that wait for a slow reader. */
#define LIMIT_CALL_REPLIES LIMIT(64)

#define OWNER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/*
 * At most one receive, one send and one job are under way, and the close, which comes for every
 * call. Each holds a reference; gRPC's call is released with the last one. start_call_ops() starts
 * all batches, under the lock, so that no reference is forgotten.
 */
struct rpc_call {
	struct rpc_calls *calls;
	grpc_call *call;
	const struct rpc_method *method;
	struct rpc_pass pass;
	atomic_uint refs;
	atomic_bool cancelled;
	struct rpc_stat_row *stat;
	uint64_t number;              /* of the call, in the log */
	uint64_t begin_ns, submit_ns; /* of the call, and of the job that waits; monotonic */

	pthread_mutex_t lock;
	struct rpc_tag close_tag, receive_tag, send_tag;
	struct rpc_job job;

	int was_cancelled;          /* filled by gRPC at the close */
	grpc_byte_buffer *incoming; /* filled by gRPC at a receive, then used by the job */
	bool incoming_end;          /* the job handles a clean half-close */
	bool receiving, sending, working;
	bool telling;        /* the `sent` handler runs */
	bool tell_again;     /* all replies were sent once more meanwhile */
	bool receive_wanted; /* it begins when all replies are sent: the flow control */
	bool handled;        /* a handler has run */
	bool over, closed;   /* the close came; the `closed` handler was called */
	bool broken;         /* sending failed: nothing more can be sent */
	bool headers_wanted; /* even before there is a reply */
	bool headers_sent, finish, finish_sent;
	bool too_large;       /* the request is, and will be the next time */
	bool sending_headers; /* the batch under way sends the headers alone */
	int code;
	char message[ERR_MESSAGE_MAX];

	grpc_byte_buffer *replies[LIMIT_CALL_REPLIES]; /* a ring */
	size_t reply_first, reply_count;
	size_t sending_len, unread_len;  /* bytes of the reply being sent; of all not sent yet */
	struct rpc_wait asking, reading; /* under the lock of the calls, like unread_len */

	struct arena arena; /* memory of the request that is being handled */
	void *state;
};

/* Begin and end the wait for the call's next request, in which the call holds a place and does
 * nothing. */
void rpc_call_begin_asking(struct rpc_call *c);
void rpc_call_end_asking(struct rpc_call *c);

/*
 * Returns whether a reply of len bytes may be queued; a small one always may. When too many replies
 * are unread, *ret_slow is a call that the caller has to end for it, with a reference.
 */
bool rpc_call_begin_reading(struct rpc_call *c, size_t len, struct rpc_call **ret_slow);

/* Subtracts len bytes of the call's replies, which were sent. */
void rpc_call_end_reading(struct rpc_call *c, size_t len);

/* Logs the end of a call. */
void rpc_call_tell_end(const struct rpc_call *c, grpc_status_code status, const char *message);

/* Cancels the call and gives the reference back. The caller holds no lock. */
void rpc_call_end_silent(struct rpc_call *c);

#endif
