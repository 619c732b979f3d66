/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_codec.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <pthread.h>
#include <string.h>

#include "buf.h"
#include "limits.h"
#include "rpc_inflate.h"

static void discard_log(gpr_log_func_args *args _unused_)
{
}

static void silence_grpc(void)
{
	if (!getenv("GRPC_VERBOSITY"))
		gpr_set_log_function(discard_log);
}

void rpc_runtime_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, silence_grpc);
	grpc_init();
}

void rpc_runtime_stop(void)
{
	grpc_shutdown();
}

grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	grpc_slice slice = grpc_slice_malloc(len);
	grpc_byte_buffer *bytes;

	protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
	bytes = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	return bytes;
}

struct unpack_memory {
	struct arena *arena;
	bool exhausted;
};

static void *unpack_alloc(void *data, size_t len)
{
	struct unpack_memory *memory = data;
	void *p = arena_take(memory->arena, len ? len : 1);

	if (!p)
		memory->exhausted = true;
	return p;
}

static void unpack_free(void *data _unused_, void *p _unused_)
{
}

static int parse_message(const void *p, size_t len, const ProtobufCMessageDescriptor *type,
			 struct arena *arena, ProtobufCMessage **ret, struct err *err)
{
	struct unpack_memory memory = {.arena = arena};
	ProtobufCAllocator allocator = {unpack_alloc, unpack_free, &memory};

	*ret = protobuf_c_message_unpack(type, arena ? &allocator : NULL, len, p);
	if (*ret)
		return 0;
	if (memory.exhausted)
		return err_set(err, ERR_LIMIT, "%s: takes more than %zu bytes of memory",
			       type->name, arena->max);
	return err_set(err, ERR_DATA, "%s: not a valid message", type->name);
}

int rpc_unpack(grpc_byte_buffer *bytes, const ProtobufCMessageDescriptor *type, struct arena *arena,
	       ProtobufCMessage **ret, struct err *err)
{
	_cleanup_(buf_done) struct buf inflated = BUF_INIT(LIMIT_MESSAGE_LEN);
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	int rc;

	if (!grpc_byte_buffer_reader_init(&reader, bytes))
		return err_set(err, ERR_DATA, "%s: unreadable message", type->name);
	slice = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	if (bytes->data.raw.compression == GRPC_COMPRESS_NONE) {
		rc = parse_message(GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice), type,
				   arena, ret, err);
		grpc_slice_unref(slice);
		return rc;
	}
	rc = rpc_inflate(GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice), &inflated, err);
	grpc_slice_unref(slice);
	if (rc)
		return err_prefix(err, "%s", type->name);
	return parse_message(inflated.p, inflated.len, type, arena, ret, err);
}

grpc_status_code rpc_status_of_code(int code)
{
	switch (code) {
	case ERR_NONE:
		return GRPC_STATUS_OK;
	case ERR_USAGE:
	case ERR_DATA:
		return GRPC_STATUS_INVALID_ARGUMENT;
	case ERR_UNSUPPORTED:
		return GRPC_STATUS_UNIMPLEMENTED;
	case ERR_LIMIT:
		return GRPC_STATUS_RESOURCE_EXHAUSTED;
	case ERR_NOT_FOUND:
		return GRPC_STATUS_NOT_FOUND;
	case ERR_EXISTS:
		return GRPC_STATUS_ALREADY_EXISTS;
	case ERR_UNAVAILABLE:
	case ERR_MEMORY:
		return GRPC_STATUS_UNAVAILABLE;
	case ERR_DENIED:
		return GRPC_STATUS_PERMISSION_DENIED;
	case ERR_MISMATCH:
		return GRPC_STATUS_FAILED_PRECONDITION;
	case ERR_CANCELLED:
		return GRPC_STATUS_CANCELLED;
	case ERR_DAMAGED:
		return GRPC_STATUS_DATA_LOSS;
	case ERR_UNAUTHENTICATED:
		return GRPC_STATUS_UNAUTHENTICATED;
	default:
		return GRPC_STATUS_INTERNAL;
	}
}

int rpc_code_of_status(grpc_status_code status)
{
	switch (status) {
	case GRPC_STATUS_OK:
		return ERR_NONE;
	case GRPC_STATUS_UNAVAILABLE:
	case GRPC_STATUS_RESOURCE_EXHAUSTED:
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		return ERR_UNAVAILABLE;
	case GRPC_STATUS_NOT_FOUND:
		return ERR_NOT_FOUND;
	case GRPC_STATUS_INVALID_ARGUMENT:
		return ERR_DATA;
	case GRPC_STATUS_FAILED_PRECONDITION:
	case GRPC_STATUS_ABORTED:
		return ERR_MISMATCH;
	case GRPC_STATUS_UNIMPLEMENTED:
		return ERR_UNSUPPORTED;
	case GRPC_STATUS_CANCELLED:
		return ERR_CANCELLED;
	case GRPC_STATUS_DATA_LOSS:
		return ERR_DAMAGED;
	case GRPC_STATUS_PERMISSION_DENIED:
	case GRPC_STATUS_UNAUTHENTICATED:
		return ERR_DENIED;
	default:
		return ERR_INTERNAL;
	}
}

/* Removes the const of a key, which gRPC's type lacks; gRPC only reads it. */
static char *mutable_key(const char *key)
{
	union {
		const char *in;
		char *out;
	} name = {key};

	return name.out;
}

grpc_arg rpc_int_arg(const char *key, int value)
{
	return (grpc_arg){
		.type = GRPC_ARG_INTEGER, .key = mutable_key(key), .value.integer = value};
}

grpc_arg rpc_pointer_arg(const char *key, const grpc_arg_pointer_vtable *vtable, void *p)
{
	return (grpc_arg){.type = GRPC_ARG_POINTER,
			  .key = mutable_key(key),
			  .value.pointer = {.p = p, .vtable = vtable}};
}

void rpc_slice_text(grpc_slice slice, char *to, size_t len)
{
	size_t n = GRPC_SLICE_LENGTH(slice);

	if (n > len - 1)
		n = len - 1;
	memcpy(to, GRPC_SLICE_START_PTR(slice), n);
	to[n] = 0;
}
