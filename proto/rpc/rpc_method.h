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
#include "roles.h"

struct rpc_call;

enum rpc_kind {
	RPC_UNARY,         /* one request, one reply */
	RPC_CLIENT_STREAM, /* requests, then one reply at their end */
	RPC_SERVER_STREAM, /* one request; replies until the handler finishes the call */
	RPC_BIDI,          /* a request may be answered by any number of replies */
};

enum rpc_result {
	RPC_DONE = 0, /* the call ends with OK once its replies are sent; a stream goes on */
	RPC_OPEN = 1, /* the call stays open until rpc_call_finish() */
};

struct rpc_method {
	const char *path; /* "/package.Service/Method" */
	enum rpc_kind kind;
	/* A thread and a completion queue of its own serve the method, so that it answers even when
	 * the other methods are busy. */
	bool apart;
	/* Bits of enum role: a caller needs one of them. 0 is refused by rpc_server_add(). */
	unsigned int roles;
	const ProtobufCMessageDescriptor *request;
	/*
	 * Handlers return enum rpc_result, or a negative err code with *err filled, which ends the
	 * call with that error. A NULL `message` makes the method UNIMPLEMENTED. The request is
	 * valid until return.
	 */
	int (*message)(struct rpc_call *c, const ProtobufCMessage *request, struct err *err);
	/* Called when the client half-closed and all its messages have been handled. For streams of
	 * requests only; if it is NULL, the call just ends. Never called for a broken stream. */
	int (*end)(struct rpc_call *c, struct err *err);
	/* Called once, as the last handler, however the call ended, if any other handler of it may
	 * have run. May be NULL. Runs on a thread of the transport, so it must not block. */
	void (*closed)(struct rpc_call *c);
	/* Called when the last of the queued replies was sent, so that there is room for more. May
	 * run beside other handlers, but not after `closed`; must not block either. May be NULL. */
	void (*sent)(struct rpc_call *c);
	void *ctx;
};

/* Bits of enum role that the caller has. */
unsigned int rpc_call_roles(const struct rpc_call *c);

/* Returns how many uploads of the caller may be built at the same time (UINT64_MAX: any number),
 * and sets a number for the caller, which is the same after a restart; 0: it is not known. */
uint64_t rpc_call_builds(const struct rpc_call *c, uint64_t *ret_owner);

void *rpc_call_ctx(const struct rpc_call *c); /* `ctx` of the method */

/* Who calls, as the log has it; "" when it was not asked. Valid as long as the call. */
const char *rpc_call_who(const struct rpc_call *c);

struct event;

/* Returns a number that no other call of the process has, nor, with rare exceptions, of another
 * process. The log has it. */
uint64_t rpc_call_number(const struct rpc_call *c);

/* Adds to an event which call it is about: its number, who made it, its method, and how long ago it
 * began. */
void rpc_call_event(const struct rpc_call *c, struct event *e);

/* Returns a number for the client: for the user on a Unix socket, else for the connection. It is
 * never 0, and different clients have different numbers, with rare exceptions. A user's number
 * stays the same after a restart. */
uint32_t rpc_call_client(const struct rpc_call *c);

/* A pointer that belongs to the handlers; they release it in `closed`. */
void *rpc_call_state(const struct rpc_call *c);
void rpc_call_set_state(struct rpc_call *c, void *state);

/* Returns whether the client went away, its deadline passed, or the server stops. Any thread. */
bool rpc_call_cancelled(const struct rpc_call *c);

/*
 * Packs a reply and queues it behind the earlier ones. Any thread. Returns ERR_LIMIT when the reply
 * is larger than LIMIT_MESSAGE_LEN, when LIMIT_CALL_REPLIES wait for a slow reader, or when too
 * many replies of all calls are unread. A reply to a call that is over is dropped silently.
 */
int rpc_call_reply(struct rpc_call *c, const ProtobufCMessage *reply, struct err *err);

/* Returns how many replies wait to be sent. */
size_t rpc_call_waiting(struct rpc_call *c);

/* Ends a call that was left RPC_OPEN, with OK when code is 0. Any thread. Only the first call of it
 * counts. */
void rpc_call_finish(struct rpc_call *c, int code, const char *message);

/* A reference keeps the struct alive, not the call: after `closed` it can only be given back. */
void rpc_call_ref(struct rpc_call *c);
void rpc_call_unref(struct rpc_call *c);

#endif
