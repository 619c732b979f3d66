/* SPDX-License-Identifier: Apache-2.0 */
/* The RPC adapter: our client against our server over loopback, and against nobody. */
#include "rpc_call_priv.h"
#include "rpc_client.h"
#include "rpc_health.h"
#include "rpc_reflection.h"
#include "rpc_server.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "limits.h"
#include "rawstack/v1/binaries.pb-c.h"

/* --- a server that counts bytes -------------------------------------------------------------- */

#define CALL_MS 120000 /* patience with what is not about time */

static atomic_int closed_count, end_count, busy_count, parked_count, busied_count;

static int reply_received(struct rpc_call *c, uint64_t received, struct err *err)
{
	Rawstack__V1__UploadReply reply = RAWSTACK__V1__UPLOAD_REPLY__INIT;

	reply.received = received;
	return rpc_call_reply(c, &reply.base, err);
}

static int on_unary(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__UploadChunk *chunk = (const Rawstack__V1__UploadChunk *)message;

	if (chunk->offset)
		return err_set(err, ERR_NOT_FOUND, "no offset %d", (int)chunk->offset);
	return reply_received(c, chunk->data.len, err);
}

static int on_chunk(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__UploadChunk *chunk = (const Rawstack__V1__UploadChunk *)message;
	uint64_t *sum = rpc_call_state(c);

	if (!sum)
		rpc_call_set_state(c, sum = calloc(1, sizeof(*sum)));
	if (!sum || chunk->offset != *sum)
		return err_set(err, ERR_DATA, "offset is not what was received");
	*sum += chunk->data.len;
	return RPC_DONE;
}

static int on_end(struct rpc_call *c, struct err *err)
{
	uint64_t *sum = rpc_call_state(c);

	atomic_fetch_add(&end_count, 1);
	return reply_received(c, sum ? *sum : 0, err);
}

static void on_closed(struct rpc_call *c)
{
	free(rpc_call_state(c));
	atomic_fetch_add(&closed_count, 1);
}

/* `offset` replies, more than wait for a slow reader. */
static int on_count(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__UploadChunk *chunk = (const Rawstack__V1__UploadChunk *)message;

	for (uint64_t i = 0; i < chunk->offset; i++)
		if (reply_received(c, i, err))
			return err->code;
	return RPC_DONE;
}

static int on_echo(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__UploadChunk *chunk = (const Rawstack__V1__UploadChunk *)message;

	return reply_received(c, chunk->offset, err) ? err->code
						     : reply_received(c, chunk->data.len, err);
}

static int on_client(struct rpc_call *c, const ProtobufCMessage *message _unused_, struct err *err)
{
	return reply_received(c, c->job.client, err);
}

/* Stays open until the client gives up. */
static int on_park(struct rpc_call *c _unused_, const ProtobufCMessage *message _unused_,
		   struct err *err _unused_)
{
	atomic_fetch_add(&parked_count, 1);
	return RPC_OPEN;
}

static void wait_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Works until it is told that nobody waits any more. */
static int on_busy(struct rpc_call *c, const ProtobufCMessage *message _unused_, struct err *err)
{
	atomic_fetch_add(&busy_count, 1);
	atomic_fetch_add(&busied_count, 1);
	while (!rpc_call_cancelled(c))
		wait_ms(5);
	atomic_fetch_sub(&busy_count, 1);
	return err_set(err, ERR_CANCELLED, "stopped");
}

#define METHOD(p, k, ...)                                                       \
	{                                                                       \
		.path = "/test.T/" p, .kind = k, .roles = ROLES_KNOWN,          \
		.request = &rawstack__v1__upload_chunk__descriptor, __VA_ARGS__ \
	}

static const struct rpc_method methods[] = {
	METHOD("Unary", RPC_UNARY, .message = on_unary, .closed = on_closed),
	METHOD("Sum", RPC_CLIENT_STREAM, .message = on_chunk, .end = on_end, .closed = on_closed),
	METHOD("Count", RPC_SERVER_STREAM, .message = on_count, .closed = on_closed),
	METHOD("Echo", RPC_BIDI, .message = on_echo, .closed = on_closed),
	METHOD("Park", RPC_UNARY, .message = on_park, .closed = on_closed),
	METHOD("Busy", RPC_UNARY, .message = on_busy, .closed = on_closed),
	METHOD("Client", RPC_UNARY, .message = on_client, .closed = on_closed),
	METHOD("Planned", RPC_UNARY, .message = NULL),
};

struct fixture {
	struct rpc_server *server;
	struct rpc_health *health;
	struct rpc_reflection *reflection;
	struct rpc_client *client;
	char target[64];
};

static int setup(void **state)
{
	static const char *const services[] = {"test.T", NULL};
	struct fixture *f = calloc(1, sizeof(*f));
	struct rpc_server_config config = {.queues = 2, .workers = 2};
	size_t len;
	const void *set = rpc_reflection_descriptors(&len);
	struct err err = {0};
	int port;

	atomic_store(&closed_count, 0);
	atomic_store(&end_count, 0);
	atomic_store(&parked_count, 0);
	atomic_store(&busied_count, 0);
	if (!f || rpc_server_open(&f->server, &config, &err) ||
	    rpc_server_add(f->server, methods, ARRAY_LEN(methods), &err) ||
	    rpc_health_open(&f->health, f->server, services, &err) ||
	    rpc_reflection_open(&f->reflection, f->server, set, len, &err) ||
	    rpc_server_listen(f->server, "127.0.0.1:0", &port, &err) ||
	    rpc_server_start(f->server, &err)) {
		print_message("%s\n", err.message);
		return -1;
	}
	snprintf(f->target, sizeof(f->target), "127.0.0.1:%d", port);
	*state = f;
	return rpc_client_open(&f->client, f->target, &err);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rpc_client_close(f->client);
	rpc_server_close(f->server);
	rpc_health_close(f->health);
	rpc_reflection_close(f->reflection);
	free(f);
	return 0;
}

/* Waits for a number that another thread counts up or down to. */
static void assert_becomes(atomic_int *value, int want)
{
	for (int i = 0; i < 12000 && atomic_load(value) != want; i++)
		wait_ms(10);
	assert_int_equal(atomic_load(value), want);
}

static uint8_t zeros[5 << 20];

static int call(struct fixture *f, const char *method, size_t len, uint64_t offset,
		uint32_t timeout_ms, uint64_t *received, struct err *err)
{
	Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;
	ProtobufCMessage *reply;
	int rc;

	chunk.data.data = zeros;
	chunk.data.len = len;
	chunk.offset = offset;
	rc = rpc_client_call(f->client, method, &chunk.base,
			     &rawstack__v1__upload_reply__descriptor, timeout_ms, &reply, err);
	if (rc)
		return rc;
	*received = ((Rawstack__V1__UploadReply *)reply)->received;
	protobuf_c_message_free_unpacked(reply, NULL);
	return 0;
}

/* --- cases ----------------------------------------------------------------------------------- */

static void test_unary(void **state)
{
	struct fixture *f = *state;
	char expected[128];
	uint64_t n;
	struct err err;

	assert_int_equal(call(f, "/test.T/Unary", 3, 0, CALL_MS, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(call(f, "/test.T/Unary", (3 << 20), 0, CALL_MS, &n, &err), 0);
	assert_int_equal(n, 3 << 20);
	assert_int_equal(call(f, "/test.T/Unary", 0, 7, CALL_MS, &n, &err), ERR_NOT_FOUND);
	snprintf(expected, sizeof(expected), "%s: no offset 7", f->target);
	assert_string_equal(err.message, expected);
	assert_becomes(&closed_count, 3);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *method;
		size_t len;
		int code;
		const char *text;
	} rows[] = {
		{"/test.T/Nothing", 0, ERR_UNSUPPORTED, "/test.T/Nothing is not served"},
		{"/rawstack.v1.Profiles/Put", 0, ERR_UNSUPPORTED, "is not served"},
		{"/test.T/Planned", 0, ERR_UNSUPPORTED, "is not served"},
		{"/test.T/Unary", sizeof(zeros), ERR_UNAVAILABLE, "larger than max"},
		{"/test.T/Unary", 1, 0, NULL}, /* it goes on serving */
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		uint64_t n;
		int rc = call(f, rows[i].method, rows[i].len, 0, CALL_MS, &n, &err);

		if (rc != rows[i].code || (rows[i].text && !strstr(err.message, rows[i].text)))
			fail_msg("row %zu: %d, '%s'", i, rc, err.message);
	}
}

/* Bytes that are no message of the method's type. */
static void test_wrong_message(void **state)
{
	struct fixture *f = *state;
	Rawstack__V1__BuildReport wrong = RAWSTACK__V1__BUILD_REPORT__INIT;
	ProtobufCMessage *reply;
	struct err err;

	wrong.units = 9; /* field 1 is bytes in UploadChunk */
	assert_int_equal(rpc_client_call(f->client, "/test.T/Unary", &wrong.base,
					 &rawstack__v1__upload_reply__descriptor, CALL_MS, &reply,
					 &err),
			 ERR_DATA);
	assert_non_null(strstr(err.message, "rawstack.v1.UploadChunk: not a valid message"));
}

/* A reply that is no message of the type asked for is not the request's fault. */
static void test_wrong_reply(void **state)
{
	struct fixture *f = *state;
	Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;
	ProtobufCMessage *reply = NULL;
	struct err err;

	chunk.data.len =
		3; /* field 1 is then a number in the reply, and a message in MissingReply */
	chunk.data.data = (uint8_t[3]){0};
	assert_int_equal(rpc_client_call(f->client, "/test.T/Unary", &chunk.base,
					 &rawstack__v1__missing_reply__descriptor, CALL_MS, &reply,
					 &err),
			 ERR_INTERNAL);
	assert_null(reply);
	assert_non_null(strstr(err.message, "the reply is not a valid rawstack.v1.MissingReply"));
}

static void open_stream(struct rpc_stream **s, struct fixture *f, const char *method)
{
	struct err err;

	assert_int_equal(rpc_stream_open(s, f->client, method,
					 &rawstack__v1__upload_reply__descriptor, CALL_MS, &err),
			 0);
}

static int send_chunk(struct rpc_stream *s, uint64_t offset, size_t len, struct err *err)
{
	Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;

	chunk.offset = offset;
	chunk.data.data = zeros;
	chunk.data.len = len;
	return rpc_stream_send(s, &chunk.base, err);
}

static uint64_t receive(struct rpc_stream *s)
{
	ProtobufCMessage *reply;
	struct err err;
	uint64_t n;

	assert_int_equal(rpc_stream_receive(s, &reply, &err), 1);
	n = ((Rawstack__V1__UploadReply *)reply)->received;
	protobuf_c_message_free_unpacked(reply, NULL);
	return n;
}

static void test_client_stream(void **state)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	struct fixture *f = *state;
	struct err err;

	open_stream(&s, f, "/test.T/Sum");
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(send_chunk(s, i << 20, 1 << 20, &err), 0);
	assert_int_equal(rpc_stream_half_close(s, &err), 0);
	assert_int_equal(receive(s), 50 << 20);
	assert_int_equal(rpc_stream_finish(s, &err), 0);
	assert_becomes(&end_count, 1);
	assert_becomes(&closed_count, 1);
}

/* finish() tells the status and close() returns also where replies were left unread. */
static void test_finish_unread(void **state)
{
	static const struct {
		const char *method;
		uint64_t offset; /* replies, of Count */
		uint32_t timeout_ms;
		int code;
	} rows[] = {
		{"/test.T/Sum", 0, CALL_MS, 0},
		{"/test.T/Unary", 0, CALL_MS, 0},
		{"/test.T/Unary", 7, CALL_MS, ERR_NOT_FOUND},
		{"/test.T/Count", 50, CALL_MS, 0},
		{"/test.T/Echo", 9, CALL_MS, 0},
		{"/test.T/Park", 0, 200, ERR_UNAVAILABLE},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (int finish = 0; finish < 2; finish++) {
			struct rpc_stream *s = NULL;
			struct err err = {0};
			int rc = 0;

			assert_int_equal(rpc_stream_open(&s, f->client, rows[i].method,
							 &rawstack__v1__upload_reply__descriptor,
							 rows[i].timeout_ms, &err),
					 0);
			/* A short time may be over by now; then that is what is told. */
			rc = send_chunk(s, rows[i].offset, 1, &err);
			assert_true(!rc || rc == rows[i].code);
			if (finish)
				rc = rpc_stream_finish(s, &err);
			else
				wait_ms(50); /* the replies arrive */
			rpc_stream_close(s);
			if (finish && rc != rows[i].code)
				fail_msg("row %zu: %d, '%s'", i, rc, err.message);
		}
	}
}

/* A handler's error ends the stream while the client still sends. */
static void test_stream_refused(void **state)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	struct fixture *f = *state;
	struct err err;
	int rc = 0;

	open_stream(&s, f, "/test.T/Sum");
	for (int i = 0; i < 1000 && !rc; i++)
		rc = send_chunk(s, 5, 1 << 20, &err);
	assert_int_equal(rc, ERR_DATA);
	assert_non_null(strstr(err.message, "offset is not what was received"));
}

/* A cut stream is closed and never ended. */
static void test_stream_cut(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		struct rpc_stream *s = NULL;
		struct err err;

		open_stream(&s, f, "/test.T/Sum");
		assert_int_equal(send_chunk(s, 0, 100000, &err), 0);
		assert_int_equal(send_chunk(s, 100000, 100000, &err), 0);
		rpc_stream_close(s);
	}
	wait_ms(100);
	assert_int_equal(atomic_load(&end_count), 0);
}

static void test_server_stream(void **state)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	struct fixture *f = *state;
	ProtobufCMessage *reply;
	struct err err;

	open_stream(&s, f, "/test.T/Count");
	assert_int_equal(send_chunk(s, 40, 0, &err), 0);
	assert_int_equal(rpc_stream_half_close(s, &err), 0);
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(receive(s), i);
	assert_int_equal(rpc_stream_receive(s, &reply, &err), 0);
	assert_int_equal(rpc_stream_finish(s, &err), 0);
}

static void test_bidi(void **state)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	struct fixture *f = *state;
	ProtobufCMessage *reply;
	struct err err;

	open_stream(&s, f, "/test.T/Echo");
	for (uint64_t i = 1; i < 100; i++) {
		assert_int_equal(send_chunk(s, i, i * 2, &err), 0);
		assert_int_equal(receive(s), i);
		assert_int_equal(receive(s), i * 2);
	}
	assert_int_equal(rpc_stream_half_close(s, &err), 0);
	assert_int_equal(rpc_stream_receive(s, &reply, &err), 0);
	assert_int_equal(rpc_stream_finish(s, &err), 0);
}

/* A call whose time is over when the server has begun with it. On a machine that is held up it may
 * be over before: then a longer one is tried. */
static void call_in_vain(struct fixture *f, const char *method, atomic_int *begun)
{
	for (uint32_t ms = 1000; !atomic_load(begun); ms *= 4) {
		struct err err = {0};
		uint64_t n;

		assert_true(ms < 100000);
		assert_int_equal(call(f, method, 0, 0, ms, &n, &err), ERR_UNAVAILABLE);
		assert_non_null(strstr(err.message, "no answer in time"));
	}
}

static void test_deadline(void **state)
{
	struct fixture *f = *state;

	call_in_vain(f, "/test.T/Park", &parked_count);
	call_in_vain(f, "/test.T/Busy", &busied_count);
	assert_becomes(&busy_count, 0);
	assert_becomes(&closed_count, atomic_load(&parked_count) + atomic_load(&busied_count));
}

/* What runs when the server stops is cancelled after the grace, and the stop returns. */
static void test_stop(void **state)
{
	struct fixture *f = *state;
	struct rpc_stream *parked = NULL;
	struct err err;

	open_stream(&parked, f, "/test.T/Park");
	assert_int_equal(send_chunk(parked, 0, 0, &err), 0);
	assert_int_equal(rpc_stream_half_close(parked, &err), 0);
	assert_becomes(&parked_count, 1);
	rpc_server_stop(f->server, 50);
	assert_int_equal(rpc_stream_finish(parked, &err), ERR_UNAVAILABLE);
	rpc_stream_close(parked);
	assert_becomes(&closed_count, 1);
}

static int health_of(struct fixture *f, char *service, struct err *err)
{
	Grpc__Health__V1__HealthCheckRequest request;
	ProtobufCMessage *reply;
	int rc;

	grpc__health__v1__health_check_request__init(&request);
	request.service = service;
	rc = rpc_client_call(f->client, "/grpc.health.v1.Health/Check", &request.base,
			     &grpc__health__v1__health_check_response__descriptor, CALL_MS, &reply,
			     err);
	if (rc)
		return rc;
	rc = (int)((Grpc__Health__V1__HealthCheckResponse *)reply)->status;
	protobuf_c_message_free_unpacked(reply, NULL);
	return rc;
}

static int next_health(struct rpc_stream *s)
{
	ProtobufCMessage *reply;
	struct err err;
	int status;

	assert_int_equal(rpc_stream_receive(s, &reply, &err), 1);
	status = (int)((Grpc__Health__V1__HealthCheckResponse *)reply)->status;
	protobuf_c_message_free_unpacked(reply, NULL);
	return status;
}

static void test_health(void **state)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	struct fixture *f = *state;
	Grpc__Health__V1__HealthCheckRequest request;
	char all[] = "", known[] = "test.T", unknown[] = "x.Y";
	ProtobufCMessage *reply;
	struct err err;

	grpc__health__v1__health_check_request__init(&request);
	assert_int_equal(health_of(f, all, &err), 2);
	rpc_health_set(f->health, true);
	assert_int_equal(health_of(f, all, &err), 1);
	assert_int_equal(health_of(f, known, &err), 1);
	assert_int_equal(health_of(f, unknown, &err), ERR_NOT_FOUND);

	assert_int_equal(rpc_stream_open(&s, f->client, "/grpc.health.v1.Health/Watch",
					 &grpc__health__v1__health_check_response__descriptor,
					 CALL_MS, &err),
			 0);
	assert_int_equal(rpc_stream_send(s, &request.base, &err), 0);
	assert_int_equal(rpc_stream_half_close(s, &err), 0);
	assert_int_equal(next_health(s), 1);
	rpc_health_set(f->health, false);
	assert_int_equal(next_health(s), 2);
	rpc_health_stop(f->health);
	assert_int_equal(next_health(s), 2);
	assert_int_equal(rpc_stream_receive(s, &reply, &err), ERR_UNAVAILABLE);
}

/* How many files answer a question; negative: the error code in the answer. */
static int reflect(struct fixture *f, const char *method, int kind, char *text)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	Grpc__Reflection__V1__ServerReflectionRequest request;
	Grpc__Reflection__V1__ServerReflectionResponse *r;
	ProtobufCMessage *reply;
	struct err err;
	int n;

	grpc__reflection__v1__server_reflection_request__init(&request);
	request.message_request_case = kind;
	request.file_by_filename = text; /* the members of the union are alike */
	assert_int_equal(
		rpc_stream_open(&s, f->client, method,
				&grpc__reflection__v1__server_reflection_response__descriptor,
				CALL_MS, &err),
		0);
	assert_int_equal(rpc_stream_send(s, &request.base, &err), 0);
	assert_int_equal(rpc_stream_receive(s, &reply, &err), 1);
	assert_int_equal(rpc_stream_finish(s, &err), 0);
	r = (Grpc__Reflection__V1__ServerReflectionResponse *)reply;
	if (r->message_response_case ==
	    GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE)
		n = -r->error_response->error_code;
	else if (
		r->message_response_case ==
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE)
		n = (int)r->list_services_response->n_service;
	else
		n = (int)r->file_descriptor_response->n_file_descriptor_proto;
	protobuf_c_message_free_unpacked(reply, NULL);
	return n;
}

static void test_reflection(void **state)
{
	static const char *const paths[] = {
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	};
	enum {
		BY_NAME = 3,
		BY_SYMBOL = 4,
		EXTENSIONS = 6,
		LIST = 7
	};
	static const struct {
		int kind;
		const char *text;
		int files;
	} rows[] = {
		{LIST, "", 5},
		{BY_NAME, "rawstack/v1/common.proto", 1},
		{BY_NAME, "rawstack/v1/symbolizer.proto", 2}, /* with what it imports */
		{BY_NAME, "rawstack/v1/none.proto", -5},
		{BY_SYMBOL, "rawstack.v1.Symbolizer", 2},
		{BY_SYMBOL, "rawstack.v1.Symbolizer.Resolve", 2},
		{BY_SYMBOL, "rawstack.v1.Symbolizer.Resolv", -5},
		{BY_SYMBOL, "rawstack.v1.IdKind", 1},
		{BY_SYMBOL, "rawstack.v1.StackBatch", 2},
		{BY_SYMBOL, "grpc.health.v1.HealthCheckResponse.ServingStatus", 1},
		{BY_SYMBOL, "grpc.health.v1.HealthCheckResponse.", -5},
		{BY_SYMBOL, "grpc.reflection.v1alpha.ServerReflection", 1},
		{BY_SYMBOL, "rawstack.v1", -5},
		{BY_SYMBOL, "", -5},
		{EXTENSIONS, "rawstack.v1.Module", -5},
	};
	struct fixture *f = *state;

	for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			char text[128];
			int n;

			snprintf(text, sizeof(text), "%s", rows[i].text);
			n = reflect(f, paths[p], rows[i].kind, text);
			if (n != rows[i].files)
				fail_msg("row %zu: %d", i, n);
		}
	}
}

static void test_two_servers(void **state)
{
	_cleanup_(rpc_server_closep) struct rpc_server *second = NULL;
	struct rpc_server_config config = {0};
	struct fixture *f = *state;
	struct err err;
	int port;

	assert_int_equal(rpc_server_open(&second, &config, &err), 0);
	assert_int_equal(rpc_server_listen(second, f->target, &port, &err), ERR_EXISTS);
}

/* Clients that cannot be told apart by an address have turns of their own all the same. */
static void test_each_connection(struct fixture *f, const char *address)
{
	struct rpc_client *first = f->client, *second = NULL;
	uint64_t mine, again, other;
	struct err err;

	assert_int_equal(rpc_client_open(&second, address, &err), 0);
	assert_int_equal(call(f, "/test.T/Client", 0, 0, CALL_MS, &mine, &err), 0);
	f->client = second;
	assert_int_equal(call(f, "/test.T/Client", 0, 0, CALL_MS, &other, &err), 0);
	f->client = first;
	assert_int_equal(call(f, "/test.T/Client", 0, 0, CALL_MS, &again, &err), 0);
	assert_true(mine == again);
	assert_true(mine != other);
	rpc_client_close(second);
}

static void test_unix_socket(void **state _unused_)
{
	static const struct rpc_server_config config = {0};
	struct rpc_server *first = NULL, *second = NULL;
	struct rpc_client *c = NULL;
	char address[] = "unix:socket.d/s";
	struct fixture f = {0};
	struct stat st;
	struct err err;
	uint64_t n;
	int port;

	assert_int_equal(rpc_server_open(&first, &config, &err), 0);
	assert_int_equal(rpc_server_open(&second, &config, &err), 0);
	assert_int_equal(rpc_server_add(first, methods, ARRAY_LEN(methods), &err), 0);
	assert_int_equal(rpc_server_listen(first, address, &port, &err), 0);
	assert_int_equal(rpc_server_listen(second, address, &port, &err), ERR_EXISTS);
	assert_int_equal(stat("socket.d/s", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(stat("socket.d", &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0750u, 0);
	assert_int_equal(rpc_server_start(first, &err), 0);
	assert_int_equal(rpc_client_open(&c, address, &err), 0);
	f.client = c;
	assert_int_equal(call(&f, "/test.T/Unary", 5, 0, CALL_MS, &n, &err), 0);
	assert_int_equal(n, 5);
	test_each_connection(&f, address);
	rpc_client_close(c);
	rpc_server_close(first);
	rpc_server_close(second);
}

static void test_targets(void **state _unused_)
{
	static const struct {
		const char *target;
		int code;
	} rows[] = {
		{"127.0.0.1:7077", 0},
		{"[::1]:7077", 0},
		{"localhost:1", 0},
		{"unix:/run/rawstack/socket", 0},
		{"", ERR_USAGE},
		{"127.0.0.1", ERR_USAGE},
		{":7077", ERR_USAGE},
		{"127.0.0.1:", ERR_USAGE},
		{"127.0.0.1:0", ERR_USAGE},
		{"127.0.0.1:65536", ERR_USAGE},
		{"127.0.0.1:70x", ERR_USAGE},
		{"::1:7077", ERR_USAGE},
		{"dns:///localhost:1", ERR_USAGE},
		{"unix:", ERR_USAGE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rpc_client *c = NULL;
		struct err err;

		if (rpc_client_open(&c, rows[i].target, &err) != rows[i].code)
			fail_msg("'%s' gave another code", rows[i].target);
		rpc_client_close(c);
	}
}

static void test_nobody_there(void **state _unused_)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	Rawstack__V1__LimitsRequest request = RAWSTACK__V1__LIMITS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	struct err err;

	assert_int_equal(rpc_client_open(&c, "127.0.0.1:1", &err), 0);
	assert_int_equal(rpc_client_call(c, "/rawstack.v1.Binaries/Limits", &request.base,
					 &rawstack__v1__limits_reply__descriptor, CALL_MS, &reply,
					 &err),
			 ERR_UNAVAILABLE);
	assert_null(reply);
	assert_memory_equal(err.message, "127.0.0.1:1: ", 13);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_unix_socket),
		cmocka_unit_test_setup_teardown(test_unary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_message, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_reply, setup, teardown),
		cmocka_unit_test_setup_teardown(test_client_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_finish_unread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stream_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stream_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_server_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bidi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_health, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reflection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_servers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
