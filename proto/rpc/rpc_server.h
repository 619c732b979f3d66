/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_SERVER_H
#define RAWSTACK_RPC_SERVER_H
/*
 * A gRPC server as the service sees it: a table of methods in, calls to their handlers out, with
 * protobuf-c messages. Knows no message of its own and no type of gRPC leaves it.
 *
 * Handlers are driven by events and never wait for a peer, so that a thousand idle streams cost no
 * thread: `message` for each request message, `end` for a clean half-close, `closed` when the call
 * is over. Events of one call come one after the other; different calls run at once on a bounded
 * pool of worker threads. A full pool answers RESOURCE_EXHAUSTED with grpc-retry-pushback-ms.
 *
 *	rpc_server_open(&s, &config, &err), rpc_server_add(s, methods, n)...,
 *	rpc_server_listen(s, "127.0.0.1:0", &port, &err), rpc_server_start(s), ...
 *	rpc_server_stop(s, 5000), rpc_server_close(s)
 *
 * Messages: received ones are refused above LIMIT_MESSAGE_LEN and when compressed, and may take
 * LIMIT_REQUEST_MEMORY once unpacked.
 */
#include <protobuf-c/protobuf-c.h>

#include "base.h"
#include "err.h"

struct rpc_server;
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

struct rpc_server_config {
	unsigned int queues;   /* completion queues, one thread each; 0: 1 */
	unsigned int workers;  /* threads that run handlers; 0: 4 */
	uint32_t keepalive_ms; /* a silent peer is asked then, and soon given up; 0: 20 s */
};

int rpc_server_open(struct rpc_server **ret, const struct rpc_server_config *config,
		    struct err *err) _must_check_;

/* Before the start. The table is kept, not copied. */
int rpc_server_add(struct rpc_server *s, const struct rpc_method *methods, size_t count,
		   struct err *err) _must_check_;

/*
 * HOST:PORT with a loopback address (port 0: any free one, told in *ret_port), or unix:PATH, whose
 * directory is made with mode 0750 if it is not there, and whose socket gets 0660, under the lock
 * file PATH.lock. ERR_DENIED for any other address: there are no identities yet. ERR_EXISTS when
 * somebody else listens there.
 */
int rpc_server_listen(struct rpc_server *s, const char *address, int *ret_port,
		      struct err *err) _must_check_;

int rpc_server_start(struct rpc_server *s, struct err *err) _must_check_;

/*
 * Accepts nothing new, gives running calls grace_ms to end, then cancels them; returns when no call
 * and no worker is left. References to calls must have been given back by then, at the latest in
 * `closed`.
 */
void rpc_server_stop(struct rpc_server *s, unsigned int grace_ms);
void rpc_server_close(struct rpc_server *s); /* stops it, if need be */
DEFINE_FREEP(struct rpc_server, rpc_server_close);

/* --- for handlers ---------------------------------------------------------------------------- */

void *rpc_call_ctx(const struct rpc_call *c); /* of the method */

/* A number for the connection that the call came by; other connections have others, but for rare
 * chances, and never 0. */
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
