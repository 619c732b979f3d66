/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CODEC_H
#define RAWSTACK_RPC_CODEC_H
/*
 * Functions that the client and the server side of the adapter share: they convert messages to and
 * from gRPC's byte buffers, and err codes to and from gRPC statuses. Internal to proto/rpc: the
 * rest of the tree sees no type of gRPC. Safe from any thread.
 */
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/status.h>
#include <protobuf-c/protobuf-c.h>

#include "arena.h"
#include "base.h"
#include "err.h"

/*
 * Call grpc_init() and grpc_shutdown(), which count. The first start also silences gRPC's own lines
 * on stderr, unless GRPC_VERBOSITY is set.
 */
void rpc_runtime_start(void);
void rpc_runtime_stop(void);

/* Returns a byte buffer with the message, which the caller destroys, or NULL when memory is out. */
grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message) _must_check_;

/*
 * Parses the bytes into a message in the arena, or, if it is NULL, in memory of its own (released
 * with protobuf_c_message_free_unpacked()). Compressed bytes are inflated, up to LIMIT_MESSAGE_LEN.
 * Does not destroy the buffer. Returns ERR_DATA when the bytes are no such message, or ERR_LIMIT
 * when they inflate to more, or the message takes more memory than the arena may give.
 */
int rpc_unpack(grpc_byte_buffer *bytes, const ProtobufCMessageDescriptor *type, struct arena *arena,
	       ProtobufCMessage **ret, struct err *err) _must_check_;

grpc_status_code rpc_status_of_code(int code);
int rpc_code_of_status(grpc_status_code status);

/* Return an option of a channel or a server; key is a literal. */
grpc_arg rpc_int_arg(const char *key, int value);
grpc_arg rpc_pointer_arg(const char *key, const grpc_arg_pointer_vtable *vtable, void *p);

/* The least time between two keepalive pings of a client (common.proto). The server ends
 * connections of clients that ping more often, so ours stay above it. */
#define RPC_PING_LEAST_MS 5000

/* Writes a slice's bytes as text into to[len], cut at its end. */
void rpc_slice_text(grpc_slice slice, char *to, size_t len);

#endif
