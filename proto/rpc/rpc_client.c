/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_client.h"

#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <string.h>

#include "rpc_channel.h"
#include "rpc_codec.h"
#include "token.h"

/*
 * Each client has one completion queue, plucked: each batch is started and then waited for, so that
 * no thread and no lock is needed here. A call's deadline completes everything that was started on
 * it. But a thread of gRPC does that, and gRPC runs on when it could not start its threads: so each
 * wait also has a limit of its own, behind the deadline.
 */
struct rpc_client {
	struct rpc_channel *channel;
	grpc_completion_queue *cq;
	char target[256];
	bool is_unreachable; /* the last call could not connect */
	bool is_unresolved;  /* the last call could not resolve the name of the host */
	bool is_late;        /* a deadline passed and gRPC did not notice: it lacks threads */
	bool is_stuck;       /* a batch that was started never completes */
};

/* How much later than its deadline a batch may complete on a machine that is held up. */
#define LATE_MS 2000

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

int rpc_client_open_as(struct rpc_client **ret, const char *target, struct rpc_identity *identity,
		       struct err *err)
{
	_cleanup_(freep) struct rpc_client *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_no_memory(err);
	snprintf(c->target, sizeof(c->target), "%s", target);
	rpc_runtime_start();
	rc = rpc_channel_open(&c->channel, target, identity, err);
	if (rc) {
		rpc_runtime_stop();
		return rc;
	}
	c->cq = grpc_completion_queue_create_for_pluck(NULL);
	*ret = TAKE_PTR(c);
	return 0;
}

int rpc_client_open(struct rpc_client **ret, const char *target, struct err *err)
{
	return rpc_client_open_as(ret, target, NULL, err);
}

void rpc_client_close(struct rpc_client *c)
{
	/* Shutdown would wait for a thread that gRPC could not start, so everything is left as it
	 * is. */
	if (!c || c->is_late)
		return;
	rpc_channel_close(c->channel);
	/* Every batch was waited for, so the queue is empty. */
	grpc_completion_queue_shutdown(c->cq);
	grpc_completion_queue_destroy(c->cq);
	rpc_runtime_stop();
	free(c);
}

static gpr_timespec from_now(uint32_t ms)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_millis((int64_t)ms, GPR_TIMESPAN));
}

static gpr_timespec late_of(gpr_timespec deadline)
{
	return gpr_time_add(deadline, gpr_time_from_millis(LATE_MS, GPR_TIMESPAN));
}

bool rpc_client_is_unreachable(const struct rpc_client *c)
{
	return c->is_unreachable;
}

int rpc_client_await(struct rpc_client *c, uint32_t timeout_ms)
{
	const gpr_timespec until = from_now(timeout_ms);
	bool is_in_time = true;
	grpc_event ev;
	char tag;

	if (c->is_stuck) {
		grpc_completion_queue_pluck(c->cq, &tag, until, NULL);
		return 0;
	}
	/* Connecting goes on only while a thread waits at the queue. */
	for (;;) {
		grpc_channel *channel = rpc_channel_get(c->channel);
		grpc_connectivity_state now = grpc_channel_check_connectivity_state(channel, 1);

		if (now == GRPC_CHANNEL_READY || !is_in_time)
			return now == GRPC_CHANNEL_READY;
		grpc_channel_watch_connectivity_state(channel, now, until, c->cq, &tag);
		ev = grpc_completion_queue_pluck(c->cq, &tag, late_of(until), NULL);
		is_in_time = ev.type == GRPC_OP_COMPLETE && ev.success;
		if (ev.type != GRPC_OP_COMPLETE)
			c->is_late = c->is_stuck = true;
	}
}

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
	const gpr_timespec now = from_now(0);
	grpc_event ev;

	if (c->is_stuck)
		return false;
	ev = grpc_completion_queue_pluck(c->cq, &s->tags[batch],
					 late_of(gpr_time_max(s->deadline, now)), NULL);
	if (ev.type == GRPC_QUEUE_TIMEOUT) {
		s->is_late = c->is_late = true;
		grpc_call_cancel(s->call, NULL);
		ev = grpc_completion_queue_pluck(c->cq, &s->tags[batch], late_of(from_now(0)),
						 NULL);
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
		rpc_channel_refresh(c->channel, c->is_unresolved);
		c->is_unresolved = false;
	}
	s->client = c;
	s->deadline = from_now(timeout_ms);
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

/* Finds the reason in gRPC's text, which repeats the address twice and the lack of a connection
 * three times. */
static const char *why_away(const char *text)
{
	static const char said[] = "Failed to connect to remote host: ";
	const char *at = strstr(text, said);

	return at ? at + sizeof(said) - 1 : NULL;
}

/* Finds the reason of a resolver, which is the last part of gRPC's text. When RESOLVE_MS have
 * passed, the resolver says that its query was cancelled. */
static const char *why_no_address(const char *text)
{
	static const char said[] = "DNS resolution failed";
	const char *last = strrchr(text, ':');

	if (strncmp(text, said, sizeof(said) - 1) != 0)
		return NULL;
	if (!last || last[1] != ' ')
		return "no reason is known";
	return strcmp(last + 2, "DNS query cancelled") ? last + 2 : "no name server answers";
}

static int status_error(struct rpc_stream *s, struct err *err)
{
	char text[ERR_MESSAGE_MAX];
	const char *target = s->client->target;
	int code;

	take_status(s);
	s->client->is_unreachable = s->client->is_unresolved = false;
	if (s->is_late || s->client->is_stuck)
		return err_set(
			err, ERR_UNAVAILABLE,
			"%s: no answer, and its time passed unnoticed: perhaps gRPC could not "
			"start its threads (ulimit -v or -u, TasksMax)",
			target);
	if (s->status == GRPC_STATUS_OK)
		return 0;
	rpc_slice_text(s->details, text, sizeof(text));
	if (s->status == GRPC_STATUS_DEADLINE_EXCEEDED)
		return err_set(err, ERR_UNAVAILABLE, "%s: no answer in time", target);
	code = rpc_channel_explain(s->client->channel, text, err);
	if (code)
		return code;
	s->client->is_unreachable = why_away(text) != NULL;
	if (s->client->is_unreachable)
		return err_set(err, ERR_UNAVAILABLE, "%s: cannot connect: %s", target,
			       why_away(text));
	s->client->is_unresolved = why_no_address(text) != NULL;
	if (s->client->is_unresolved)
		return err_set(err, ERR_UNAVAILABLE, "%s: cannot resolve %.*s: %s", target,
			       (int)(strrchr(target, ':') - target), target, why_no_address(text));
	return err_set(err, rpc_code_of_status(s->status), "%s: %s", target,
		       text[0] ? text : "failed without a reason");
}

/* After a batch that failed the call is over; its status says why. */
static int broken_stream(struct rpc_stream *s, struct err *err)
{
	int rc = status_error(s, err);

	return rc ? rc
		  : err_set(err, ERR_INTERNAL, "%s: ended the call before the last message",
			    s->client->target);
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
	return err_set(err, ERR_INTERNAL, "%s: the reply is not a valid %s", s->client->target,
		       s->reply_type->name);
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

int rpc_client_call_in(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		       const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		       struct arena *arena, ProtobufCMessage **ret_reply, struct err *err)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *s = NULL;
	grpc_byte_buffer *bytes, *reply;
	int rc;

	s = stream_new(c, method, reply_type, timeout_ms, err);
	if (!s)
		return ERR_MEMORY;
	bytes = rpc_pack(request);
	if (!bytes) {
		s->ended = true; /* nothing was started */
		return err_no_memory(err);
	}
	reply = call_unary(s, bytes);
	grpc_byte_buffer_destroy(bytes);
	rc = status_error(s, err);
	if (!rc && !reply)
		rc = err_set(err, ERR_INTERNAL, "%s: answered without a message", c->target);
	if (!rc)
		rc = parse_reply(s, reply, arena, ret_reply, err);
	if (reply)
		grpc_byte_buffer_destroy(reply);
	return rc;
}

int rpc_client_call(struct rpc_client *c, const char *method, const ProtobufCMessage *request,
		    const ProtobufCMessageDescriptor *reply_type, uint32_t timeout_ms,
		    ProtobufCMessage **ret_reply, struct err *err)
{
	return rpc_client_call_in(c, method, request, reply_type, timeout_ms, NULL, ret_reply, err);
}
