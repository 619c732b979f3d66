/* SPDX-License-Identifier: Apache-2.0 */
/* The calls and the streams of a client. */
#include <grpc/slice.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "number.h"
#include "rpc_client_priv.h"
#include "rpc_codec.h"
#include "token.h"

#define NS_PER_MS UINT64_C(1000000)

/* The longest pushback that is believed: ten minutes. */
#define RETRY_MAX_MS 600000

/* The tag of a batch is the address of its entry in tags[], by these indexes. */
enum batch {
	BATCH_STATUS,
	BATCH_HEADERS,
	BATCH_SEND,
	BATCH_RECEIVE,
	BATCH_COUNT
};

struct rpc_stream {
	struct rpc_client *client;
	grpc_call *call;
	const ProtobufCMessageDescriptor *reply_type;
	char tags[BATCH_COUNT];
	bool half_closed;
	bool ended;   /* the status has been received */
	bool is_late; /* the deadline passed, and gRPC did not notice */
	gpr_timespec deadline;
	grpc_byte_buffer *reply; /* of the batch that is under way */

	grpc_metadata authorization; /* if the client has a token */
	bool is_authorized;
	grpc_metadata_array headers, trailers;
	grpc_status_code status;
	grpc_slice details;
};

/* Our batches are always well-formed: a refusal is a fault of this file. */
static void start_stream_ops(struct rpc_stream *s, const grpc_op *ops, size_t count,
			     enum batch batch)
{
	grpc_call_error rc = grpc_call_start_batch(s->call, ops, count, &s->tags[batch], NULL);

	if (rc != GRPC_CALL_OK)
		abort();
}

static bool wait_for_batch(struct rpc_stream *s, enum batch batch)
{
	struct rpc_client *c = s->client;
	const gpr_timespec now = rpc_client_time(0);
	grpc_event ev;

	if (c->is_stuck)
		return false;
	ev = grpc_completion_queue_pluck(c->cq, &s->tags[batch],
					 rpc_client_late(gpr_time_max(s->deadline, now)), NULL);
	if (ev.type == GRPC_QUEUE_TIMEOUT) {
		s->is_late = c->is_late = true;
		grpc_call_cancel(s->call, NULL);
		ev = grpc_completion_queue_pluck(c->cq, &s->tags[batch],
						 rpc_client_late(rpc_client_time(0)), NULL);
	}
	c->is_stuck = ev.type != GRPC_OP_COMPLETE;
	return ev.type == GRPC_OP_COMPLETE && ev.success;
}

/* Returns a call on which nothing has been started, or NULL when memory is out. */
static struct rpc_stream *stream_new(struct rpc_client *c, const char *method,
				     const ProtobufCMessageDescriptor *reply_type,
				     uint32_t timeout_ms, struct err *err)
{
	struct rpc_stream *s = calloc(1, sizeof(*s));
	grpc_slice path;
	char *token;

	if (!s) {
		err_no_memory(err);
		return NULL;
	}
	/* gRPC asks name servers again after pauses of up to two minutes; a new channel asks at
	 * once, and callers make pauses of their own. */
	if (!c->is_late) {
		if (c->reach >= RPC_UNCONNECTED)
			rpc_client_use(c, rpc_servers_at(c->servers));
		rpc_channel_refresh(c->channel, c->reach == RPC_UNRESOLVED);
		c->reach = RPC_ANSWERED;
	}
	s->client = c;
	s->deadline = rpc_client_time(timeout_ms);
	s->reply_type = reply_type;
	s->details = grpc_empty_slice();
	grpc_metadata_array_init(&s->headers);
	grpc_metadata_array_init(&s->trailers);
	token = rpc_channel_authorization(c->channel);
	if (token) {
		s->is_authorized = true;
		s->authorization.key = grpc_slice_from_static_string("authorization");
		s->authorization.value = grpc_slice_from_copied_string(token);
		token_free(token);
	}
	path = grpc_slice_from_copied_string(method);
	s->call =
		grpc_channel_create_call(rpc_channel_get(c->channel), NULL, GRPC_PROPAGATE_DEFAULTS,
					 c->cq, path, NULL, s->deadline, NULL);
	grpc_slice_unref(path);
	return s;
}

static grpc_op headers_op(struct rpc_stream *s)
{
	grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};

	op.data.send_initial_metadata.count = s->is_authorized;
	op.data.send_initial_metadata.metadata = &s->authorization;
	return op;
}

static void set_status_op(struct rpc_stream *s, grpc_op *op)
{
	*op = (grpc_op){.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
	op->data.recv_status_on_client.trailing_metadata = &s->trailers;
	op->data.recv_status_on_client.status = &s->status;
	op->data.recv_status_on_client.status_details = &s->details;
}

int rpc_stream_open(struct rpc_stream **ret, struct rpc_client *c, const char *method,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    struct err *err)
{
	struct rpc_stream *s = stream_new(c, method, reply_type, timeout_ms, err);
	grpc_op op;

	if (!s)
		return ERR_MEMORY;
	set_status_op(s, &op);
	start_stream_ops(s, &op, 1, BATCH_STATUS);

	op = (grpc_op){.op = GRPC_OP_RECV_INITIAL_METADATA};
	op.data.recv_initial_metadata.recv_initial_metadata = &s->headers;
	start_stream_ops(s, &op, 1, BATCH_HEADERS);

	/* The headers are sent at once, so that the server sees a stream even before its first
	 * message. */
	op = headers_op(s);
	start_stream_ops(s, &op, 1, BATCH_SEND);
	wait_for_batch(s, BATCH_SEND);
	*ret = s;
	return 0;
}

/* Waits for the end of the call, once, and keeps its status. */
static void take_status(struct rpc_stream *s)
{
	if (s->ended)
		return;
	wait_for_batch(s, BATCH_STATUS);
	wait_for_batch(s, BATCH_HEADERS);
	s->ended = true;
}

/* Returns the pushback of a server (gRPC A6), which our service sends with every refusal that
 * passes, or 0. It is bounded, as a server does not decide how long a client sleeps. */
static uint32_t read_pushback(const grpc_metadata_array *trailers)
{
	uint64_t ms;
	char text[16];

	for (size_t i = 0; i < trailers->count; i++) {
		if (grpc_slice_str_cmp(trailers->metadata[i].key, "grpc-retry-pushback-ms") != 0)
			continue;
		rpc_slice_text(trailers->metadata[i].value, text, sizeof(text));
		if (number_read(text, 10, &ms))
			return ms < RETRY_MAX_MS ? (uint32_t)ms : RETRY_MAX_MS;
	}
	return 0;
}

static int status_error(struct rpc_stream *s, struct err *err)
{
	struct rpc_client *const c = s->client;
	char text[ERR_MESSAGE_MAX];
	struct rpc_failure f = {
		.target = rpc_client_server(c),
		.has_tls = rpc_channel_has_tls(c->channel),
		.text = text,
	};
	enum rpc_reach reach = RPC_ANSWERED;
	struct err own;

	take_status(s);
	c->retry_ms = 0;
	c->reach = RPC_CUT;
	if (s->is_late || c->is_stuck)
		return err_set(
			err, ERR_UNAVAILABLE,
			"%s: no answer, and its time passed unnoticed: perhaps gRPC could not "
			"start its threads (ulimit -v or -u, TasksMax)",
			f.target);
	if (s->status == GRPC_STATUS_OK) {
		rpc_client_note(c, RPC_ANSWERED, NULL);
		return 0;
	}
	rpc_slice_text(s->details, text, sizeof(text));
	f.status = s->status;
	f.is_told = s->trailers.count > 0;
	rpc_failure_explain(&f, &reach, &own);
	rpc_client_note(c, reach, own.message);
	c->retry_ms = read_pushback(&s->trailers);
	return err_set(err, own.code, "%s", own.message);
}

/* After a batch that failed the call is over; its status says why. */
static int broken_stream(struct rpc_stream *s, struct err *err)
{
	int rc = status_error(s, err);

	return rc ? rc
		  : err_set(err, ERR_INTERNAL, "%s: ended the call before the last message",
			    rpc_client_server(s->client));
}

int rpc_stream_send(struct rpc_stream *s, const ProtobufCMessage *request, struct err *err)
{
	grpc_byte_buffer *bytes = rpc_pack(request);
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};

	if (!bytes)
		return err_no_memory(err);
	op.data.send_message.send_message = bytes;
	start_stream_ops(s, &op, 1, BATCH_SEND);
	grpc_byte_buffer_destroy(bytes);
	return wait_for_batch(s, BATCH_SEND) ? 0 : broken_stream(s, err);
}

int rpc_stream_half_close(struct rpc_stream *s, struct err *err)
{
	grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};

	if (s->half_closed)
		return 0;
	s->half_closed = true;
	start_stream_ops(s, &op, 1, BATCH_SEND);
	return wait_for_batch(s, BATCH_SEND) ? 0 : broken_stream(s, err);
}

/* Takes the reply of a batch that completed; a batch that is stuck may still write to it. */
static grpc_byte_buffer *take_unary_reply(struct rpc_stream *s)
{
	return s->client->is_stuck ? NULL : TAKE_PTR(s->reply);
}

/* Returns the bytes of the next reply, or NULL when there is none. */
static grpc_byte_buffer *next_reply(struct rpc_stream *s)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

	op.data.recv_message.recv_message = &s->reply;
	start_stream_ops(s, &op, 1, BATCH_RECEIVE);
	wait_for_batch(s, BATCH_RECEIVE);
	return take_unary_reply(s);
}

static int parse_reply(struct rpc_stream *s, grpc_byte_buffer *bytes, struct arena *arena,
		       ProtobufCMessage **ret_reply, struct err *err)
{
	if (!rpc_unpack(bytes, s->reply_type, arena, ret_reply, err))
		return 0;
	/* ERR_DATA would say that our request is wrong; an invalid reply is the server's fault. */
	return err_set(err, ERR_INTERNAL, "%s: the reply is not a valid %s",
		       rpc_client_server(s->client), s->reply_type->name);
}

int rpc_stream_receive(struct rpc_stream *s, ProtobufCMessage **ret_reply, struct err *err)
{
	grpc_byte_buffer *bytes = next_reply(s);
	int rc;

	if (!bytes)
		return status_error(s, err);
	rc = parse_reply(s, bytes, NULL, ret_reply, err);
	grpc_byte_buffer_destroy(bytes);
	return rc ? rc : 1;
}

int rpc_stream_finish(struct rpc_stream *s, struct err *err)
{
	int rc = rpc_stream_half_close(s, err);
	grpc_byte_buffer *bytes;

	if (rc)
		return rc;
	/* gRPC returns the status only after the last reply was received. */
	while (!s->ended && (bytes = next_reply(s)))
		grpc_byte_buffer_destroy(bytes);
	return status_error(s, err);
}

void rpc_stream_close(struct rpc_stream *s)
{
	if (!s)
		return;
	if (!s->ended)
		grpc_call_cancel(s->call, NULL);
	take_status(s);
	/* A batch that is stuck still refers to the stream. */
	if (s->client->is_stuck)
		return;
	grpc_call_unref(s->call);
	grpc_metadata_array_destroy(&s->headers);
	grpc_metadata_array_destroy(&s->trailers);
	grpc_slice_unref(s->details);
	if (s->is_authorized)
		grpc_slice_unref(s->authorization.value);
	free(s);
}

/* Makes the whole call as one batch: one wait instead of six. */
static grpc_byte_buffer *call_unary(struct rpc_stream *s, grpc_byte_buffer *request)
{
	grpc_op ops[] = {
		headers_op(s),
		{.op = GRPC_OP_SEND_MESSAGE},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
		{.op = GRPC_OP_RECV_INITIAL_METADATA},
		{.op = GRPC_OP_RECV_MESSAGE},
		{.op = GRPC_OP_RECV_STATUS_ON_CLIENT},
	};

	ops[1].data.send_message.send_message = request;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &s->headers;
	ops[4].data.recv_message.recv_message = &s->reply;
	set_status_op(s, &ops[5]);
	start_stream_ops(s, ops, ARRAY_LEN(ops), BATCH_STATUS);
	wait_for_batch(s, BATCH_STATUS);
	s->ended = s->half_closed = true;
	return take_unary_reply(s);
}

/* Makes a call to one server. */
static int call_server(struct rpc_client *c, const struct rpc_request *request, uint32_t timeout_ms,
		       ProtobufCMessage **ret_reply, struct err *err)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	grpc_byte_buffer *bytes, *reply;
	int rc;

	s = stream_new(c, request->method, request->reply_type, timeout_ms, err);
	if (!s)
		return ERR_MEMORY;
	bytes = rpc_pack(request->message);
	if (!bytes) {
		s->ended = true; /* nothing was started */
		return err_no_memory(err);
	}
	reply = call_unary(s, bytes);
	grpc_byte_buffer_destroy(bytes);
	rc = status_error(s, err);
	if (!rc && !reply)
		rc = err_set(err, ERR_INTERNAL, "%s: answered without a message",
			     rpc_client_server(c));
	if (!rc)
		rc = parse_reply(s, reply, request->arena, ret_reply, err);
	if (reply)
		grpc_byte_buffer_destroy(reply);
	return rc;
}

/* Puts what other servers said in front of the error of the last one. */
static int join_errors(const struct err *others, struct err *err)
{
	const struct err last = *err;

	if (!others->code)
		return last.code;
	return err_set(err, last.code, "%s; %s", others->message, last.message);
}

int rpc_client_request(struct rpc_client *c, const struct rpc_request *request,
		       ProtobufCMessage **ret_reply, struct err *err)
{
	const uint64_t began_ns = io_mono_ns(), most_ns = request->timeout_ms * NS_PER_MS;
	struct err others = {0}, unused;
	uint64_t spent_ns = 0;
	int rc;

	err = err ? err : &unused;
	for (size_t tried = 1;; tried++) {
		rc = call_server(c, request, (uint32_t)((most_ns - spent_ns) / NS_PER_MS),
				 ret_reply, err);
		if (!rc)
			return 0;
		rc = join_errors(&others, err);
		spent_ns = io_mono_ns() - began_ns;
		/* Nothing was sent, so another server may be asked. */
		if (c->reach < RPC_UNCONNECTED || tried == rpc_servers_count(c->servers) ||
		    spent_ns >= most_ns)
			return rc;
		others = *err;
	}
}

int rpc_client_call(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    ProtobufCMessage **ret_reply, struct err *err)
{
	return rpc_client_request(c,
				  &(struct rpc_request){.method = method,
							.message = request,
							.reply_type = reply_type,
							.timeout_ms = timeout_ms},
				  ret_reply, err);
}
