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

/* target: "HOST:PORT", "[v6]:PORT" or "unix:PATH". Does not connect yet. */
int rpc_client_open(struct rpc_client **ret, const char *target, struct err *err) _must_check_;

/*
 * The same with an identity (rpc_identity.h), of which it keeps a reference; NULL: none. New
 * certificates count from the next call on. A Unix socket has no TLS. ERR_USAGE for a token that
 * would go in plain text to another host than this one; errors of rpc_identity_load().
 *
 * A call to a server whose certificate is not to be believed is ERR_DENIED, and says why.
 */
int rpc_client_open_as(struct rpc_client **ret, const char *target, struct rpc_identity *identity,
		       struct err *err) _must_check_;
void rpc_client_close(struct rpc_client *c);
DEFINE_FREEP(struct rpc_client, rpc_client_close);

/* Whether the last call failed because there was no connection, and none could be made. */
bool rpc_client_is_unreachable(const struct rpc_client *c);

/* Waits until a connection stands, at most so long, and sees to it that one is tried meanwhile: at
 * least every two seconds. 1: it stands, 0: not yet. */
int rpc_client_await(struct rpc_client *c, uint32_t timeout_ms);

/*
 * One request, one reply. timeout_ms bounds the whole call. *ret_reply is freed by the caller with
 * protobuf_c_message_free_unpacked(). A reply that does not parse is ERR_INTERNAL: never ERR_DATA,
 * which says that the request is wrong, and will be the next time.
 */
int rpc_client_call(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    ProtobufCMessage **ret_reply, struct err *err) _must_check_;

/*
 * The same with the reply in an arena, which bounds its memory (ERR_INTERNAL above it) and is
 * reset by the caller: one allocation for a large reply instead of one for each of its strings.
 */
int rpc_client_call_in(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		       const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		       struct arena *arena, ProtobufCMessage **ret_reply,
		       struct err *err) _must_check_;

/*
 * A stream of requests and/or replies. Client streaming: open, send..., finish. Server streaming:
 * open, send once, half_close, receive until 0, finish. At most one of a client at a time.
 */
struct rpc_stream;

int rpc_stream_open(struct rpc_stream **ret, struct rpc_client *c, const char *method,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    struct err *err) _must_check_;

/* Returns when the transport has taken the message: that is the flow control. */
int rpc_stream_send(struct rpc_stream *s, const ProtobufCMessage *request,
		    struct err *err) _must_check_;
int rpc_stream_half_close(struct rpc_stream *s, struct err *err) _must_check_;

/* 1 and a reply, 0 at the end of the replies, negative on failure. */
int rpc_stream_receive(struct rpc_stream *s, ProtobufCMessage **ret_reply,
		       struct err *err) _must_check_;

/*
 * Half-closes if that was not done, drops the replies that were not received, waits for the status:
 * 0, or the call's error. Returns by the call's deadline at the latest.
 */
int rpc_stream_finish(struct rpc_stream *s, struct err *err) _must_check_;

/* Cancels what is not finished. */
void rpc_stream_close(struct rpc_stream *s);
DEFINE_FREEP(struct rpc_stream, rpc_stream_close);

#endif
