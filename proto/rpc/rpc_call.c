/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_call_priv.h"

#include <assert.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "limits.h"
#include "rpc_codec.h"
#include "rpc_peer.h"
#include "rpc_refusal.h"

/* Memory of one unpacked request: a message of 2-byte submessages grows forty-fold. */
#define LIMIT_REQUEST_MEMORY (64 * MIB)

void rpc_call_ref(struct rpc_call *c)
{
	atomic_fetch_add(&c->refs, 1);
}

void rpc_call_unref(struct rpc_call *c)
{
	struct rpc_calls *calls = c->calls;

	if (atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	for (; c->reply_count; c->reply_count--) {
		grpc_byte_buffer_destroy(c->replies[c->reply_first]);
		c->reply_first = (c->reply_first + 1) % LIMIT_CALL_REPLIES;
	}
	if (c->incoming)
		grpc_byte_buffer_destroy(c->incoming);
	pthread_mutex_lock(&calls->lock);
	rpc_wait_end(&c->asking);
	rpc_wait_end(&c->reading);
	calls->unread_len -= c->unread_len;
	pthread_mutex_unlock(&calls->lock);
	grpc_call_unref(c->call);
	rpc_gate_leave(calls->gate, &c->pass);
	arena_done(&c->arena);
	pthread_mutex_destroy(&c->lock);
	free(c);
	pthread_mutex_lock(&calls->lock);
	calls->live--;
	pthread_cond_broadcast(&calls->changed);
	pthread_mutex_unlock(&calls->lock);
}

/* --- operations of gRPC ---------------------------------------------------------------------- */

static void start_call_ops(struct rpc_call *c, const grpc_op *ops, size_t count,
			   struct rpc_tag *tag)
{
	rpc_call_ref(c);
	if (grpc_call_start_batch(c->call, ops, count, tag, NULL) != GRPC_CALL_OK)
		abort(); /* our batches are always well-formed */
}

static void fill_refusal(const struct rpc_call *c, struct rpc_refusal *r)
{
	grpc_status_code status = rpc_status_of_code(c->code);
	uint32_t pushback_ms = rpc_refusal_pushback_ms(status, c->too_large);

	if (pushback_ms)
		pushback_ms += c->pass.retry_ms;
	rpc_refusal_init(r, status, c->message, pushback_ms, c->method ? c->method->request : NULL);
}

/* Sends what is due next: the headers, a reply, or the status. */
static void send_next(struct rpc_call *c)
{
	grpc_byte_buffer *bytes = NULL;
	struct rpc_refusal refusal = {.count = 0};
	grpc_slice details = grpc_empty_slice();
	grpc_op ops[3];
	size_t n = 0;

	if (c->sending || c->broken || c->finish_sent ||
	    (!c->reply_count && !c->finish && (c->headers_sent || !c->headers_wanted)))
		return;
	c->sending_headers = !c->reply_count && !c->finish;
	if (!c->headers_sent)
		ops[n++] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
	c->headers_sent = true;
	if (c->reply_count) {
		bytes = c->replies[c->reply_first];
		c->reply_first = (c->reply_first + 1) % LIMIT_CALL_REPLIES;
		c->reply_count--;
		c->sending_len = grpc_byte_buffer_length(bytes);
		ops[n] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
		ops[n++].data.send_message.send_message = bytes;
	}
	if (c->finish && !c->reply_count) {
		grpc_op *op = &ops[n++];

		details = grpc_slice_from_copied_string(c->message);
		fill_refusal(c, &refusal);
		*op = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
		op->data.send_status_from_server.status = rpc_status_of_code(c->code);
		op->data.send_status_from_server.status_details = &details;
		op->data.send_status_from_server.trailing_metadata_count = refusal.count;
		op->data.send_status_from_server.trailing_metadata = refusal.trailers;
		c->finish_sent = true;
	}
	c->sending = true;
	start_call_ops(c, ops, n, &c->send_tag);
	grpc_slice_unref(details);
	rpc_refusal_done(&refusal);
	if (bytes)
		grpc_byte_buffer_destroy(bytes);
}

static void receive_next(struct rpc_call *c)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

	if (!c->receive_wanted || c->receiving || c->working || c->finish || c->over ||
	    (c->sending && !c->sending_headers) || c->reply_count)
		return;
	c->receive_wanted = false;
	c->receiving = true;
	rpc_call_begin_asking(c);
	op.data.recv_message.recv_message = &c->incoming;
	start_call_ops(c, &op, 1, &c->receive_tag);
}

static void finish_call(struct rpc_call *c, int code, const char *message)
{
	if (c->finish)
		return;
	c->finish = true;
	c->code = code;
	snprintf(c->message, sizeof(c->message), "%s", message);
	send_next(c);
}

/* Returns whether the caller, which holds the lock, has to call closed() after dropping it. */
static bool take_closed(struct rpc_call *c)
{
	if (!c->over || c->working || c->telling || c->closed)
		return false;
	c->closed = true;
	return c->handled && c->method->closed;
}

/* Returns whether the caller, which holds the lock, has to call tell_sent() after dropping it. */
static bool begin_telling(struct rpc_call *c)
{
	if (!c->method || !c->method->sent || !c->handled || c->working || c->sending ||
	    c->reply_count || c->broken || c->finish || c->over)
		return false;
	c->tell_again = c->telling;
	if (c->telling)
		return false;
	c->telling = true;
	return true;
}

/* Runs the `sent` handler. The `closed` handler waits for it, as for any other. */
static void tell_sent(struct rpc_call *c)
{
	bool again, closed;

	do {
		c->method->sent(c);
		pthread_mutex_lock(&c->lock);
		again = c->tell_again && !c->over;
		c->telling = again;
		c->tell_again = false;
		closed = take_closed(c);
		pthread_mutex_unlock(&c->lock);
	} while (again);
	if (closed)
		c->method->closed(c);
}

static void on_close(struct rpc_tag *tag, bool ok _unused_)
{
	struct rpc_call *c = OWNER_OF(tag, struct rpc_call, close_tag);
	grpc_status_code status;
	struct err end = {0};
	bool closed;

	pthread_mutex_lock(&c->lock);
	if (c->was_cancelled)
		atomic_store(&c->cancelled, true);
	c->over = true;
	status = c->was_cancelled || !c->finish_sent ? GRPC_STATUS_CANCELLED
						     : rpc_status_of_code(c->code);
	memcpy(end.message, c->message, sizeof(end.message));
	closed = take_closed(c);
	pthread_mutex_unlock(&c->lock);
	rpc_stat_count(c->stat, status, c->begin_ns);
	rpc_call_tell_end(c, status, end.message);
	if (closed)
		c->method->closed(c);
	rpc_call_unref(c);
}

static void on_send(struct rpc_tag *tag, bool ok)
{
	struct rpc_call *c = OWNER_OF(tag, struct rpc_call, send_tag);
	bool tells;

	pthread_mutex_lock(&c->lock);
	c->sending = false;
	c->broken = c->broken || !ok;
	rpc_call_end_reading(c, c->sending_len);
	c->sending_len = 0;
	send_next(c);
	receive_next(c);
	tells = begin_telling(c);
	pthread_mutex_unlock(&c->lock);
	if (tells)
		tell_sent(c);
	rpc_call_unref(c);
}

size_t rpc_call_waiting(struct rpc_call *c)
{
	size_t count;

	pthread_mutex_lock(&c->lock);
	count = c->reply_count;
	pthread_mutex_unlock(&c->lock);
	return count;
}

/* Refuses a queued job that has to give its place to another client's. */
static void refuse_job(struct rpc_job *job)
{
	struct rpc_call *c = OWNER_OF(job, struct rpc_call, job);
	bool closed;

	pthread_mutex_lock(&c->lock);
	c->working = false;
	rpc_stat_refuse(c->calls->stat, RPC_REFUSED_TURN);
	if (!c->over)
		finish_call(c, ERR_UNAVAILABLE, "the service is busy");
	closed = take_closed(c);
	pthread_mutex_unlock(&c->lock);
	if (closed)
		c->method->closed(c);
	rpc_call_unref(c);
}

static void on_receive(struct rpc_tag *tag, bool ok)
{
	struct rpc_call *c = OWNER_OF(tag, struct rpc_call, receive_tag);
	struct rpc_job *displaced = NULL;

	pthread_mutex_lock(&c->lock);
	rpc_call_end_asking(c);
	c->receiving = false;
	/* A half-close and a broken stream both bring no message: the check of the call below tells
	 * them apart. */
	c->incoming_end = !c->incoming;
	if (ok && !c->over && (c->incoming || !grpc_call_failed_before_recv_message(c->call))) {
		c->working = true;
		c->job.bytes = c->incoming ? grpc_byte_buffer_length(c->incoming) : 0;
		c->submit_ns = io_mono_ns();
		rpc_call_ref(c);
		if (!rpc_pool_submit(c->method->apart ? c->calls->apart : c->calls->pool, &c->job,
				     &displaced)) {
			c->working = false;
			rpc_stat_refuse(c->calls->stat, RPC_REFUSED_QUEUE);
			finish_call(c, ERR_UNAVAILABLE, "the service is busy");
			rpc_call_unref(c);
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (displaced)
		refuse_job(displaced);
	rpc_call_unref(c);
}

static int handle_call(struct rpc_call *c, struct err *err)
{
	const struct rpc_method *m = c->method;
	bool stream = m->kind == RPC_CLIENT_STREAM || m->kind == RPC_BIDI;
	ProtobufCMessage *request;
	int rc;

	if (c->incoming_end && !stream) {
		rpc_stat_refuse(c->calls->stat, RPC_REFUSED_REQUEST);
		return err_set(err, ERR_DATA, "%s: no request message", m->path);
	}
	if (c->incoming_end)
		return m->end ? m->end(c, err) : RPC_DONE;
	rc = rpc_gate_charge(c->calls->gate, &c->pass, grpc_byte_buffer_length(c->incoming), err);
	if (rc) {
		rpc_stat_refuse(c->calls->stat, RPC_REFUSED_QUOTA);
		return rc;
	}
	rc = rpc_unpack(c->incoming, m->request, &c->arena, &request, err);
	grpc_byte_buffer_destroy(c->incoming);
	c->incoming = NULL;
	c->too_large = rc == ERR_LIMIT;
	if (rc)
		rpc_stat_refuse(c->calls->stat, RPC_REFUSED_REQUEST);
	else
		rc = m->message(c, request, err);
	arena_reset(&c->arena);
	return rc;
}

static void run_call_job(struct rpc_job *job)
{
	struct rpc_call *c = OWNER_OF(job, struct rpc_call, job);
	struct err err = {0};
	bool closed, skip, more, tells;
	int rc = RPC_OPEN;

	histogram_add_since(&c->calls->stat->waits, c->submit_ns);
	pthread_mutex_lock(&c->lock);
	skip = c->over;
	c->handled = c->handled || !skip;
	pthread_mutex_unlock(&c->lock);
	if (!skip)
		rc = handle_call(c, &err);

	pthread_mutex_lock(&c->lock);
	c->working = false;
	more = !c->incoming_end &&
	       (c->method->kind == RPC_CLIENT_STREAM || c->method->kind == RPC_BIDI);
	if (rc < 0)
		finish_call(c, rc, err.message);
	else if (rc == RPC_DONE && !more)
		finish_call(c, 0, "");
	c->receive_wanted = rc == RPC_DONE && more;
	/* Clients of several languages wait for the headers, and the first event may come much
	 * later. */
	c->headers_wanted =
		c->headers_wanted || (rc == RPC_OPEN && c->method->kind == RPC_SERVER_STREAM);
	send_next(c);
	receive_next(c);
	closed = take_closed(c);
	tells = begin_telling(c);
	pthread_mutex_unlock(&c->lock);
	if (closed)
		c->method->closed(c);
	if (tells)
		tell_sent(c);
	rpc_call_unref(c);
}

/*
 * Returns a number for the connection, by which requests take turns. The peer's address would not
 * do, because all clients of one user on a Unix socket have the same. But each connection has an
 * authentication context of its own, even where there are no identities.
 */
static uint32_t client_of(grpc_call *call)
{
	grpc_auth_context *context = grpc_call_auth_context(call);
	uint64_t number = (uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15);

	if (context)
		grpc_auth_context_release(context);
	return (uint32_t)(number >> 32);
}

void rpc_call_begin(struct rpc_calls *calls, grpc_call *call, const struct rpc_method *method,
		    const struct rpc_pass *pass, int refuse_code, const char *refuse_message)
{
	struct rpc_call *c = calloc(1, sizeof(*c));
	grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

	if (!c) {
		struct rpc_pass back = *pass;

		rpc_gate_leave(calls->gate, &back);
		grpc_call_unref(call);
		return;
	}
	c->calls = calls;
	c->call = call;
	c->method = method;
	c->pass = *pass;
	c->number = atomic_fetch_add(&calls->numbers, 1);
	c->stat = rpc_stat_row(calls->stat, method);
	c->begin_ns = io_mono_ns();
	c->arena = (struct arena)ARENA_INIT(LIMIT_REQUEST_MEMORY);
	c->close_tag.done = on_close;
	c->receive_tag.done = on_receive;
	c->send_tag.done = on_send;
	c->job.run = run_call_job;
	c->job.what = method ? method->path : NULL;
	c->job.client = client_of(call);
	atomic_init(&c->refs, 1);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_lock(&calls->lock);
	calls->live++;
	pthread_mutex_unlock(&calls->lock);

	pthread_mutex_lock(&c->lock);
	op.data.recv_close_on_server.cancelled = &c->was_cancelled;
	start_call_ops(c, &op, 1, &c->close_tag);
	if (method && !refuse_code) {
		/* A client may wait for the headers before it sends its first request. */
		c->headers_wanted = method->kind == RPC_BIDI;
		send_next(c);
		c->receive_wanted = true;
		receive_next(c);
	} else {
		finish_call(c, refuse_code, refuse_message);
	}
	pthread_mutex_unlock(&c->lock);
	rpc_call_unref(c);
}

int rpc_call_reply(struct rpc_call *c, const ProtobufCMessage *reply, struct err *err)
{
	grpc_byte_buffer *bytes = rpc_pack(reply);
	struct rpc_call *slow = NULL;
	bool full, dropped, room = true;

	if (!bytes)
		return err_no_memory(err);
	if (grpc_byte_buffer_length(bytes) > LIMIT_MESSAGE_LEN) {
		grpc_byte_buffer_destroy(bytes);
		return err_set(err, ERR_LIMIT, "a reply of more than %llu bytes",
			       (unsigned long long)LIMIT_MESSAGE_LEN);
	}
	pthread_mutex_lock(&c->lock);
	dropped = c->over || c->broken || c->finish;
	full = c->reply_count == LIMIT_CALL_REPLIES;
	if (!dropped && !full)
		room = rpc_call_begin_reading(c, grpc_byte_buffer_length(bytes), &slow);
	if (!dropped && !full && room) {
		c->replies[(c->reply_first + c->reply_count++) % LIMIT_CALL_REPLIES] = bytes;
		/* The reply of a handler that is about to return goes out with the status. */
		if (!c->working || c->reply_count > 1)
			send_next(c);
	}
	pthread_mutex_unlock(&c->lock);
	if (slow)
		rpc_call_end_silent(slow);
	if (dropped || full || !room)
		grpc_byte_buffer_destroy(bytes);
	if (!room)
		return err_set(err, ERR_UNAVAILABLE,
			       "the service is busy: too many replies are not read");
	if (full && !dropped)
		return err_set(err, ERR_LIMIT, "the client reads too slowly");
	return 0;
}

void rpc_call_finish(struct rpc_call *c, int code, const char *message)
{
	pthread_mutex_lock(&c->lock);
	if (!c->over)
		finish_call(c, code, message);
	pthread_mutex_unlock(&c->lock);
}

unsigned int rpc_call_roles(const struct rpc_call *c)
{
	return c->pass.caller.roles;
}

uint64_t rpc_call_builds(const struct rpc_call *c, uint64_t *ret_owner)
{
	*ret_owner = c->pass.caller.key;
	return *ret_owner ? c->pass.caller.quota.most[QUOTA_BUILDS] : QUOTA_ANY;
}

void *rpc_call_ctx(const struct rpc_call *c)
{
	return c->method->ctx;
}

uint32_t rpc_call_client(const struct rpc_call *c)
{
	char *peer = grpc_call_get_peer(c->call);
	uint32_t client = peer ? rpc_peer_of_text(peer) : 0;

	gpr_free(peer);
	return client ? client : c->job.client | 1;
}

void *rpc_call_state(const struct rpc_call *c)
{
	return c->state;
}

void rpc_call_set_state(struct rpc_call *c, void *state)
{
	c->state = state;
}

bool rpc_call_cancelled(const struct rpc_call *c)
{
	return atomic_load(&c->cancelled);
}
