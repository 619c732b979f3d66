/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CLIENT_H
#define RAWSTACK_RPC_CLIENT_H
/*
 * Blocking calls to a Rawstack service, over gRPC, with protobuf-c messages. Knows no message of
 * its own: callers pass requests and the descriptor of the reply.
 *
 *	struct rpc_client *c;
 *	ProtobufCMessage *reply;
 *
 *	if (rpc_client_open(&c, "127.0.0.1:7077", &err))
 *		return err.code;
 *	if (rpc_client_call(c, "/rawstack.v1.Symbolizer/Symbolize", &batch.base,
 *			    &rawstack__v1__symbolized_batch__descriptor, 10000, &reply, &err))
 *		...
 *	protobuf_c_message_free_unpacked(reply, NULL);
 *
 * gRPC is started by the first open and stopped after the last close. A client may be used by one
 * thread at a time; different clients are independent. Never fork while one is open.
 *
 * Where gRPC cannot start its threads it sees no deadline: a call ends two to four seconds behind
 * its own then, as ERR_UNAVAILABLE, and what a close would wait for is left open.
 *
 * A failed call gives the gRPC status as an err code: UNAVAILABLE, RESOURCE_EXHAUSTED and
 * DEADLINE_EXCEEDED are ERR_UNAVAILABLE (trying again is right), NOT_FOUND ERR_NOT_FOUND,
 * INVALID_ARGUMENT ERR_DATA, FAILED_PRECONDITION and ABORTED ERR_MISMATCH, UNIMPLEMENTED
 * ERR_UNSUPPORTED, CANCELLED ERR_CANCELLED, DATA_LOSS ERR_DAMAGED, PERMISSION_DENIED and
 * UNAUTHENTICATED ERR_DENIED, all others ERR_INTERNAL; the message is "<target>: <the server's
 * text>".
 */
#include <protobuf-c/protobuf-c.h>

#include "arena.h"
#include "base.h"
#include "err.h"
#include "rpc_identity.h"

struct rpc_client;

/*
 * Opens a client for "HOST:PORT", "[v6]:PORT" or "unix:PATH", or for several servers of one
 * service, separated by commas (server_list.h). Does not connect yet. Returns ERR_USAGE for a list
 * in which any server is wrong.
 *
 * Of several servers the first is used that can be reached. A call that could not connect, and so
 * sent nothing, is made to the next server within its time; a call that was cut is not, because it
 * may have been carried out. An attempt to connect takes RPC_CONNECT_MS at most (rpc_servers.h). A
 * line in the log says which server is used when it is another one than before.
 */
int rpc_client_open(struct rpc_client **ret, const char *list, struct err *err) _must_check_;

/*
 * Does the same with an identity (rpc_identity.h) and keeps a reference to it; NULL: none. New
 * certificates count from the next call on. A Unix socket has no TLS. Returns ERR_USAGE for a token
 * that would be sent in plain text to another host than this one, or an error of
 * rpc_identity_load().
 *
 * A call to a server whose certificate is not trusted fails with ERR_DENIED, and the message says
 * why.
 */
int rpc_client_open_as(struct rpc_client **ret, const char *list, struct rpc_identity *identity,
		       struct err *err) _must_check_;

/* Opens a client that shares the servers and the identity of another: they find out together which
 * server is away. The other one may be in use by another thread. */
int rpc_client_open_like(struct rpc_client **ret, const struct rpc_client *other,
			 struct err *err) _must_check_;
void rpc_client_close(struct rpc_client *c);
DEFINE_FREEP(struct rpc_client, rpc_client_close);

/* Returns the server of the last call, and the first one's before any. Equal servers are equal
 * pointers, as long as the client lives. */
const char *rpc_client_server(const struct rpc_client *c);

/* Says that the next calls have nothing to do with earlier ones, so that they may go to another
 * server: to the first, if it was left a minute ago. Calls that belong together, such as those of
 * an upload, otherwise stay with one server until it is away. */
void rpc_client_begin(struct rpc_client *c);

/* Returns for how long the server asked the last call, which failed, to wait (at most ten minutes),
 * or 0. */
uint32_t rpc_client_retry_ms(const struct rpc_client *c);

/* Returns whether the last call failed because there was no connection and none could be made. */
bool rpc_client_is_unreachable(const struct rpc_client *c);

/* Waits for a connection, at most timeout_ms, and makes gRPC try one at least every two seconds
 * meanwhile. Returns 1 if there is a connection, else 0. */
int rpc_client_await(struct rpc_client *c, uint32_t timeout_ms);

/*
 * Makes a call with one request and one reply. timeout_ms bounds the whole call. The caller frees
 * *ret_reply with protobuf_c_message_free_unpacked(). Returns ERR_INTERNAL for a reply that does
 * not parse, and never ERR_DATA for it, which would say that the request is wrong.
 */
int rpc_client_call(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    ProtobufCMessage **ret_reply, struct err *err) _must_check_;

struct rpc_request {
	const char *method;
	const ProtobufCMessage *message;
	const ProtobufCMessageDescriptor *reply_type;
	uint32_t timeout_ms;
	/* NULL, or where the reply goes: one allocation for a large reply instead of one for each
	 * of its strings. The arena bounds the reply's memory (ERR_INTERNAL above it), and the
	 * caller resets it. */
	struct arena *arena;
};

/* Does the same, with an arena if there is one. */
int rpc_client_request(struct rpc_client *c, const struct rpc_request *request,
		       ProtobufCMessage **ret_reply, struct err *err) _must_check_;

/*
 * A stream of requests, of replies, or of both. Client streaming: open, send..., finish. Server
 * streaming: open, send once, half_close, receive until 0, finish. A client has at most one stream
 * at a time.
 */
struct rpc_stream;

int rpc_stream_open(struct rpc_stream **ret, struct rpc_client *c, const char *method,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    struct err *err) _must_check_;

/* Sends a request. Returns when the transport has taken it, which is the flow control. */
int rpc_stream_send(struct rpc_stream *s, const ProtobufCMessage *request,
		    struct err *err) _must_check_;
int rpc_stream_half_close(struct rpc_stream *s, struct err *err) _must_check_;

/* Returns 1 and a reply, 0 at the end of the replies, or a negative code. */
int rpc_stream_receive(struct rpc_stream *s, ProtobufCMessage **ret_reply,
		       struct err *err) _must_check_;

/*
 * Half-closes if that was not done, drops the remaining replies and waits for the status. Returns 0
 * or the call's error, by the call's deadline at the latest.
 */
int rpc_stream_finish(struct rpc_stream *s, struct err *err) _must_check_;

/* Cancels the call if it is not finished, and frees the stream. */
void rpc_stream_close(struct rpc_stream *s);
DEFINE_FREEP(struct rpc_stream, rpc_stream_close);

#endif
