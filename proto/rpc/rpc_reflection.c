/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_reflection.h"

#include <grpc/status.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "bytes.h"
#include "grpc/reflection/v1/reflection.pb-c.h"

/*
 * The numbers of the few fields of descriptor.proto that are read. Files are found by name, and
 * symbols by their full name: messages, enums and services with their packages, nested messages and
 * methods behind their parents.
 */
enum {
	SET_FILE = 1,
	FILE_NAME = 1,
	FILE_PACKAGE = 2,
	FILE_DEPENDENCY = 3,
	FILE_MESSAGE = 4,
	FILE_ENUM = 5,
	FILE_SERVICE = 6,
	ANY_NAME = 1,
	MESSAGE_NESTED = 3,
	MESSAGE_ENUM = 4,
	SERVICE_METHOD = 2,

	FILES_MAX = 64,
	DEPENDENCIES_MAX = 16,
	SERVICES_MAX = 32,
	NAME_MAX_LEN = 256,
	NESTING_MAX = 8,
};

struct text {
	const char *p;
	size_t len;
};

struct file {
	struct text content; /* a serialized FileDescriptorProto */
	struct text name, package;
	struct text dependencies[DEPENDENCIES_MAX];
	size_t dependency_count;
};

struct rpc_reflection {
	struct file files[FILES_MAX];
	size_t file_count;
	char services[SERVICES_MAX][NAME_MAX_LEN];
	size_t service_count;
	struct rpc_method methods[2];
};

/* Reads the next field of a message: its number, and its bytes when it has a length; other fields
 * are skipped. Returns 1, or 0 at the end or at damage (in->failed). */
static int next_message_field(struct bytes *in, uint32_t *number, struct text *value)
{
	while (in->left) {
		uint64_t key = bytes_uleb(in);
		uint64_t len;

		switch (key & 7) {
		case 0:
			(void)bytes_uleb(in);
			break;
		case 1:
			bytes_skip(in, 8);
			break;
		case 5:
			bytes_skip(in, 4);
			break;
		case 2:
			len = bytes_uleb(in);
			value->p = (const char *)bytes_take(in, len);
			value->len = len;
			*number = (uint32_t)(key >> 3);
			return !in->failed;
		default:
			bytes_fail(in);
		}
	}
	return 0;
}

static bool text_is(struct text t, const char *s, size_t len)
{
	return t.len == len && !memcmp(t.p, s, len);
}

static struct text name_of_descriptor(struct text message)
{
	struct bytes in = bytes_of(message.p, message.len);
	struct text value, none = {"", 0};
	uint32_t number;

	while (next_message_field(&in, &number, &value))
		if (number == ANY_NAME)
			return value;
	return none;
}

static int add_descriptor_file(struct rpc_reflection *r, struct text content, struct err *err)
{
	struct file *f = &r->files[r->file_count];
	struct bytes in = bytes_of(content.p, content.len);
	struct text value;
	uint32_t number;

	if (r->file_count == FILES_MAX)
		return err_set(err, ERR_LIMIT, "descriptors: more than %d files", FILES_MAX);
	r->file_count++;
	f->content = content;
	while (next_message_field(&in, &number, &value)) {
		if (number == FILE_NAME)
			f->name = value;
		else if (number == FILE_PACKAGE)
			f->package = value;
		else if (number == FILE_DEPENDENCY && f->dependency_count < DEPENDENCIES_MAX)
			f->dependencies[f->dependency_count++] = value;
	}
	in.failed = in.failed || !f->name.p || !f->package.p;
	if (in.failed)
		return err_set(err, ERR_DATA, "descriptors: file %zu is damaged", r->file_count);
	in = bytes_of(content.p, content.len);
	while (next_message_field(&in, &number, &value)) {
		struct text name = name_of_descriptor(value);

		if (number != FILE_SERVICE)
			continue;
		if (r->service_count == SERVICES_MAX ||
		    f->package.len + name.len + 2 > NAME_MAX_LEN)
			return err_set(err, ERR_LIMIT, "descriptors: too many services");
		snprintf(r->services[r->service_count++], NAME_MAX_LEN, "%.*s.%.*s",
			 (int)f->package.len, f->package.p, (int)name.len, name.p);
	}
	return 0;
}

static const struct file *file_by_name(const struct rpc_reflection *r, const char *name, size_t len)
{
	for (size_t i = 0; i < r->file_count; i++)
		if (text_is(r->files[i].name, name, len))
			return &r->files[i];
	return NULL;
}

/* Returns whether the entity is `symbol` or contains it. `symbol` is the rest of the name, without
 * the parents. */
static bool descriptor_holds(struct text entity, uint32_t kind, const char *symbol, size_t len,
			     int depth)
{
	struct text name = name_of_descriptor(entity), value;
	struct bytes in = bytes_of(entity.p, entity.len);
	uint32_t number;

	if (text_is(name, symbol, len))
		return true;
	if (kind == FILE_ENUM || depth == NESTING_MAX || len <= name.len + 1 ||
	    memcmp(name.p, symbol, name.len) != 0 || symbol[name.len] != '.')
		return false;
	symbol += name.len + 1;
	len -= name.len + 1;
	while (next_message_field(&in, &number, &value)) {
		if (kind == FILE_SERVICE ? number == SERVICE_METHOD : number == MESSAGE_ENUM) {
			if (text_is(name_of_descriptor(value), symbol, len))
				return true;
		} else if (kind == FILE_MESSAGE && number == MESSAGE_NESTED) {
			if (descriptor_holds(value, FILE_MESSAGE, symbol, len, depth + 1))
				return true;
		}
	}
	return false;
}

static const struct file *file_by_symbol(const struct rpc_reflection *r, const char *symbol)
{
	size_t len = strlen(symbol);

	for (size_t i = 0; i < r->file_count; i++) {
		const struct file *f = &r->files[i];
		struct bytes in = bytes_of(f->content.p, f->content.len);
		size_t skip = f->package.len + 1;
		struct text value;
		uint32_t number;

		if (len <= skip || memcmp(symbol, f->package.p, skip - 1) != 0 ||
		    symbol[skip - 1] != '.')
			continue;
		while (next_message_field(&in, &number, &value))
			if (number >= FILE_MESSAGE && number <= FILE_SERVICE &&
			    descriptor_holds(value, number, symbol + skip, len - skip, 0))
				return f;
	}
	return NULL;
}

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;

/* Replies with the file and all that it imports, transitively, each once. */
static void reply_file(const struct rpc_reflection *r, const struct file *first, Response *response,
		       Grpc__Reflection__V1__FileDescriptorResponse *files,
		       ProtobufCBinaryData *contents)
{
	const struct file *found[FILES_MAX] = {first};
	size_t count = 1;

	for (size_t i = 0; i < count; i++) {
		for (size_t d = 0; d < found[i]->dependency_count; d++) {
			struct text name = found[i]->dependencies[d];
			const struct file *f = file_by_name(r, name.p, name.len);
			size_t k = 0;

			while (k < count && found[k] != f)
				k++;
			if (f && k == count)
				found[count++] = f;
		}
		/* protobuf-c lacks the const; the bytes are only read. */
		memcpy(&contents[i].data, &found[i]->content.p, sizeof(contents[i].data));
		contents[i].len = found[i]->content.len;
	}
	files->file_descriptor_proto = contents;
	files->n_file_descriptor_proto = count;
	response->message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
	response->file_descriptor_response = files;
}

static int reply_services(struct rpc_call *c, struct rpc_reflection *r, Request *request,
			  struct err *err)
{
	Response response;
	Grpc__Reflection__V1__ListServiceResponse list =
		GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
	Grpc__Reflection__V1__ServiceResponse rows[SERVICES_MAX];
	Grpc__Reflection__V1__ServiceResponse *pointers[SERVICES_MAX];

	grpc__reflection__v1__server_reflection_response__init(&response);
	for (size_t i = 0; i < r->service_count; i++) {
		grpc__reflection__v1__service_response__init(&rows[i]);
		rows[i].name = r->services[i];
		pointers[i] = &rows[i];
	}
	list.n_service = r->service_count;
	list.service = pointers;
	response.valid_host = request->host;
	response.original_request = request;
	response.message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
	response.list_services_response = &list;
	return rpc_call_reply(c, &response.base, err);
}

static int on_request(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	struct rpc_reflection *r = rpc_call_ctx(c);
	/* The reply contains the request, through a type without const. */
	union {
		const ProtobufCMessage *in;
		Request *out;
	} echo = {message};
	Request *request = echo.out;
	Response response;
	Grpc__Reflection__V1__FileDescriptorResponse files =
		GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
	Grpc__Reflection__V1__ErrorResponse error;
	char reason[] = "not found";
	ProtobufCBinaryData contents[FILES_MAX];
	const struct file *f = NULL;

	grpc__reflection__v1__server_reflection_response__init(&response);
	grpc__reflection__v1__error_response__init(&error);
	response.valid_host = request->host;
	response.original_request = request;
	switch (request->message_request_case) {
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
		return reply_services(c, r, request, err);
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
		f = file_by_name(r, request->file_by_filename, strlen(request->file_by_filename));
		break;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
		f = file_by_symbol(r, request->file_containing_symbol);
		break;
	default: /* proto3 without extensions: there are none to find */
		break;
	}
	if (f) {
		reply_file(r, f, &response, &files, contents);
	} else {
		error.error_code = GRPC_STATUS_NOT_FOUND;
		error.error_message = reason;
		response.message_response_case =
			GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
		response.error_response = &error;
	}
	return rpc_call_reply(c, &response.base, err);
}

int rpc_reflection_open(struct rpc_reflection **ret, struct rpc_server *s, const void *set,
			size_t len, struct err *err)
{
	static const char *const paths[] = {
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	};
	_cleanup_(rpc_reflection_closep) struct rpc_reflection *r = calloc(1, sizeof(*r));
	struct bytes in = bytes_of(set, len);
	struct text value;
	uint32_t number;
	int rc;

	if (!r)
		return err_no_memory(err);
	while (next_message_field(&in, &number, &value)) {
		rc = number == SET_FILE ? add_descriptor_file(r, value, err) : 0;
		if (rc)
			return rc;
	}
	if (in.failed || !r->file_count)
		return err_set(err, ERR_DATA, "descriptors: not a FileDescriptorSet");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		r->methods[i] = (struct rpc_method){
			.path = paths[i],
			.kind = RPC_BIDI,
			.roles = ROLES_KNOWN,
			.request = &grpc__reflection__v1__server_reflection_request__descriptor,
			.message = on_request,
			.ctx = r};
	rc = rpc_server_add(s, r->methods, ARRAY_LEN(r->methods), err);
	if (!rc)
		*ret = TAKE_PTR(r);
	return rc;
}

extern const uint8_t rpc_descriptors[]; /* written by cmake/EmbedFile.cmake */
extern const size_t rpc_descriptors_len;

const void *rpc_reflection_descriptors(size_t *ret_len)
{
	*ret_len = rpc_descriptors_len;
	return rpc_descriptors;
}

void rpc_reflection_close(struct rpc_reflection *r)
{
	free(r);
}
