/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_METHOD_H
#define RAWSTACK_RPC_METHOD_H
/*
 * A method of the service: its handlers, and what they may do with the call that they are given.
 * rpc_server.h says when they run.
 */
#include <protobuf-c/protobuf-c.h>

#include "base.h"
#include "err.h"

struct rpc_call;

enum rpc_kind {
	RPC_UNARY,         /* one request, one reply */
	RPC_CLIENT_STREAM, /* requests, then one reply at their end */
	RPC_SERVER_STREAM, /* one request, replies until the handler finishes */
	RPC_BIDI,          /* a request may be answered by any number of replies */
};

enum rpc_result {
	RPC_DONE = 0, /* message, end: the call ends with OK once its replies are sent; for the
		       * messages of a stream: the next one, please */
	RPC_OPEN = 1, /* stays open: somebody calls rpc_call_finish() later */
};

struct rpc_method {
	const char *path; /* "/package.Service/Method" */
	enum rpc_kind kind;
	/* Served by a thread and a completion queue of its own, so that it answers whatever the
	 * others do. */
	bool apart;
	const ProtobufCMessageDescriptor *request;
	/*
	 * Handlers return enum rpc_result, or a negative err code with *err filled, which ends the
	 * call with that error. `message` NULL: UNIMPLEMENTED. The request is valid until return.
	 */
	int (*message)(struct rpc_call *c, const ProtobufCMessage *request, struct err *err);
	/* The client half-closed: everything it sent has arrived. Streams of requests only; NULL
	 * just ends the call. Never called for a stream that was cut. */
	int (*end)(struct rpc_call *c, struct err *err);
	/* Once, last, however the call ended, if any handler of it may have run. May be NULL. Runs
	 * on a thread of the transport: it must not block. */
	void (*closed)(struct rpc_call *c);
	/* The last of the queued replies has gone out: there is room for more. Beside other events,
	 * not after `closed`; must not block either. May be NULL. */
	void (*sent)(struct rpc_call *c);
	void *ctx;
};

void *rpc_call_ctx(const struct rpc_call *c); /* of the method */

/* A number for who calls: of a Unix socket the user, else the connection. Others have others, but
 * for rare chances, and never 0. A user's is the same after a restart. */
uint32_t rpc_call_client(const struct rpc_call *c);

/* A pointer of the handlers' own, released by them in `closed`. */
void *rpc_call_state(const struct rpc_call *c);
void rpc_call_set_state(struct rpc_call *c, void *state);

/* The client went away, its deadline passed, or the server stops. Any thread. */
bool rpc_call_cancelled(const struct rpc_call *c);

/*
 * Packs a reply and queues it behind those before. Any thread. ERR_LIMIT when it is larger than
 * LIMIT_MESSAGE_LEN, or when more than LIMIT_CALL_REPLIES wait for a slow reader. A reply to a call
 * that is over is dropped silently.
 */
int rpc_call_reply(struct rpc_call *c, const ProtobufCMessage *reply, struct err *err);

/* Replies that wait to go out. */
size_t rpc_call_waiting(struct rpc_call *c);

/* Ends a call that was left RPC_OPEN, with OK when code is 0. Any thread; the first one counts. */
void rpc_call_finish(struct rpc_call *c, int code, const char *message);

/* A reference keeps the struct, not the call: after `closed` it can only be given back. */
void rpc_call_ref(struct rpc_call *c);
void rpc_call_unref(struct rpc_call *c);

#endif
