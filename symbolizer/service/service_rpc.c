/* SPDX-License-Identifier: Apache-2.0 */
#include "service_rpc.h"

#include <stdio.h>

#include "binary_meta.h"
#include "limits.h"
#include "service_events.h"
#include "upload_check.h"

const char *const service_rpc_names[] = {"rawstack.v1.Symbolizer", "rawstack.v1.Binaries", NULL};

/* --- Symbolizer ------------------------------------------------------------------------------ */

static bool is_cancelled(void *arg)
{
	return rpc_call_cancelled(arg);
}

static struct service_caller caller_of(struct rpc_call *c)
{
	return (struct service_caller){is_cancelled, c, rpc_call_client(c)};
}

static int on_symbolize(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	const struct service_caller caller = caller_of(c);
	struct symbolize *work = NULL;
	int rc = service_symbolize(rpc_call_ctx(c), (const Rawstack__V1__StackBatch *)request,
				   &caller, &work, err);

	if (rc || !work)
		return rc;
	rc = rpc_call_reply(c, &symbolize_reply(work)->base, err);
	service_symbolize_done(rpc_call_ctx(c), work);
	return rc;
}

/* The call's state is the stream. */
static int on_stream_batch(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	const struct service_caller caller = caller_of(c);
	struct service_stream *stream = rpc_call_state(c);
	const Rawstack__V1__SymbolizedBatch *reply;
	int rc = service_stream_batch(rpc_call_ctx(c), &stream,
				      (const Rawstack__V1__StackBatch *)request, &caller, &reply,
				      err);

	rpc_call_set_state(c, stream);
	return rc ? rc : rpc_call_reply(c, &reply->base, err);
}

static void on_stream_closed(struct rpc_call *c)
{
	service_stream_end(rpc_call_ctx(c), rpc_call_state(c));
}

/* The body of a unary method whose function takes (service, request, caller, arena, reply, err). */
#define UNARY(handler, function, Request, Reply, init)                                           \
	static int handler(struct rpc_call *c, const ProtobufCMessage *request, struct err *err) \
	{                                                                                        \
		_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);       \
		const struct service_caller caller = caller_of(c);                               \
		Reply reply = init;                                                              \
		int rc = function(rpc_call_ctx(c), (const Request *)request, &caller, &arena,    \
				  &reply, err);                                                  \
                                                                                                 \
		return rc ? rc : rpc_call_reply(c, &reply.base, err);                            \
	}

UNARY(on_list, service_list, Rawstack__V1__ListRequest, Rawstack__V1__ListReply,
      RAWSTACK__V1__LIST_REPLY__INIT)
UNARY(on_missing, service_missing, Rawstack__V1__MissingRequest, Rawstack__V1__MissingReply,
      RAWSTACK__V1__MISSING_REPLY__INIT)

/* A host sends what only it has: the symbols of its kernel and of its vDSO. They are not to take
 * the place of a file that somebody else sent, or to stay longer. */
static int check_host_begin(unsigned int roles, const Rawstack__V1__BeginRequest *request,
			    struct err *err)
{
	if (roles & ROLES_WRITE)
		return 0;
	if (!upload_kind_is_of_host(request->kind))
		return err_set(err, ERR_DENIED,
			       "the role host uploads symbols of kernels and vDSOs only");
	if (request->replace || request->pin)
		return err_set(err, ERR_DENIED, "the role host neither replaces nor pins");
	return 0;
}

static int on_resolve(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	const struct service_caller caller = caller_of(c);
	Rawstack__V1__ResolveReply reply;

	rawstack__v1__resolve_reply__init(&reply);
	TRY(service_resolve(rpc_call_ctx(c), (const Rawstack__V1__ResolveRequest *)request, &caller,
			    &arena, &reply, err));
	return rpc_call_reply(c, &reply.base, err);
}

static int on_begin(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	Rawstack__V1__BeginReply reply = RAWSTACK__V1__BEGIN_REPLY__INIT;
	struct upload_owner owner = {.request = rpc_call_number(c)};

	owner.builds = rpc_call_builds(c, &owner.key);
	snprintf(owner.who, sizeof(owner.who), "%s", rpc_call_who(c));
	TRY(check_host_begin(rpc_call_roles(c), (const Rawstack__V1__BeginRequest *)request, err));
	TRY(service_begin(rpc_call_ctx(c), (const Rawstack__V1__BeginRequest *)request,
			  rpc_call_client(c), &arena, &reply, err));
	if (reply.upload_id.len)
		service_own_upload(rpc_call_ctx(c), reply.upload_id.data, &owner);
	service_event_begin(c, (const Rawstack__V1__BeginRequest *)request, &reply);
	return rpc_call_reply(c, &reply.base, err);
}

static int on_get(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	Rawstack__V1__Binary *reply = NULL;
	int rc = service_get(rpc_call_ctx(c), (const Rawstack__V1__GetRequest *)request, &arena,
			     &reply, err);

	return rc || !reply ? rc : rpc_call_reply(c, &reply->base, err);
}

static int on_delete(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__DeleteRequest *request = (const Rawstack__V1__DeleteRequest *)message;
	Rawstack__V1__DeleteReply reply = RAWSTACK__V1__DELETE_REPLY__INIT;

	TRY(service_delete(rpc_call_ctx(c), request, &reply, err));
	service_event_change(c, "delete", &request->build_id,
			     reply.deleted ? "deleted" : "nothing");
	return rpc_call_reply(c, &reply.base, err);
}

static int on_pin(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	const Rawstack__V1__PinRequest *request = (const Rawstack__V1__PinRequest *)message;
	Rawstack__V1__PinReply reply = RAWSTACK__V1__PIN_REPLY__INIT;

	TRY(service_pin(rpc_call_ctx(c), request, err));
	service_event_change(c, "pin", &request->build_id, request->pinned ? "pinned" : "unpinned");
	return rpc_call_reply(c, &reply.base, err);
}

static int on_limits(struct rpc_call *c, const ProtobufCMessage *request _unused_, struct err *err)
{
	Rawstack__V1__LimitsReply reply = RAWSTACK__V1__LIMITS_REPLY__INIT;

	service_limits(rpc_call_ctx(c), &reply);
	return rpc_call_reply(c, &reply.base, err);
}

/* --- Upload: the call's state is the upload it has ------------------------------------------- */

static int reply_received(struct rpc_call *c, uint64_t received, struct err *err)
{
	Rawstack__V1__UploadReply reply = RAWSTACK__V1__UPLOAD_REPLY__INIT;

	reply.received = received;
	return rpc_call_reply(c, &reply.base, err);
}

static int on_chunk(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	struct upload *up = rpc_call_state(c);
	uint64_t received;
	int rc = service_upload(rpc_call_ctx(c), &up, (const Rawstack__V1__UploadChunk *)request,
				&received, err);

	rpc_call_set_state(c, up);
	return rc;
}

static int on_upload_end(struct rpc_call *c, struct err *err)
{
	struct upload *up = rpc_call_state(c);
	uint64_t received;

	if (!up)
		return err_set(err, ERR_DATA, "an upload without a chunk");
	/* The stream lets go of the upload before it replies, so that Finish may follow at once. */
	received = up->received;
	rpc_call_set_state(c, NULL);
	service_upload_end(rpc_call_ctx(c), up);
	return reply_received(c, received, err);
}

static void on_upload_closed(struct rpc_call *c)
{
	service_upload_end(rpc_call_ctx(c), rpc_call_state(c));
}

/* --- Finish: answered when the build ends, or when the ticket holds -------------------------- */

struct finish_waiter {
	struct upload_waiter waiter;
	struct rpc_call *call; /* referenced */
};

static Rawstack__V1__BuildState state_of(const struct upload_result *result)
{
	if (result->queued)
		return result->state == UPLOAD_RUNNING
			       ? RAWSTACK__V1__BUILD_STATE__BUILD_STATE_RUNNING
			       : RAWSTACK__V1__BUILD_STATE__BUILD_STATE_QUEUED;
	return result->code ? RAWSTACK__V1__BUILD_STATE__BUILD_STATE_FAILED
			    : RAWSTACK__V1__BUILD_STATE__BUILD_STATE_DONE;
}

static void on_built(struct upload_waiter *waiter, const struct upload_result *result)
{
	struct finish_waiter *w = (struct finish_waiter *)waiter;
	Rawstack__V1__FinishReply reply = RAWSTACK__V1__FINISH_REPLY__INIT;
	union {
		const Rawstack__V1__BuildReport *in;
		Rawstack__V1__BuildReport *out;
	} borrowed = {result->report}; /* protobuf-c reads only; its type lacks the const */
	struct build_id id = result->id;
	struct err err = {0};
	int rc = 0;

	if (result->code == ERR_DATA || result->code == ERR_UNAVAILABLE ||
	    result->code == ERR_DAMAGED || (result->code && result->queued)) {
		rpc_call_finish(w->call, result->code, result->message);
	} else {
		reply.state = state_of(result);
		reply.ticket = (ProtobufCBinaryData){id.len, id.bytes};
		reply.report = borrowed.out;
		if (result->code)
			reply.reason = binary_meta_text(result->message);
		rc = rpc_call_reply(w->call, &reply.base, &err);
		rpc_call_finish(w->call, rc, err.message);
	}
	rpc_call_unref(w->call);
	free(w);
}

static int on_finish(struct rpc_call *c, const ProtobufCMessage *message, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	const Rawstack__V1__FinishRequest *request = (const Rawstack__V1__FinishRequest *)message;
	Rawstack__V1__FinishReply reply = RAWSTACK__V1__FINISH_REPLY__INIT;
	struct finish_waiter *w;
	bool waits;
	int rc;

	w = calloc(1, sizeof(*w));
	if (!w)
		return err_no_memory(err);
	w->waiter.done = on_built;
	w->call = c;
	rpc_call_ref(c);
	rc = service_finish(rpc_call_ctx(c), request, &w->waiter, &arena, &reply, &waits, err);
	if (!rc)
		service_event_finish(c, &request->upload_id);
	if (!rc && waits)
		return RPC_OPEN;
	rpc_call_unref(c);
	free(w);
	return rc ? rc : rpc_call_reply(c, &reply.base, err);
}

/* --- Watch: the call's state is the watch ---------------------------------------------------- */

enum {
	EVENTS_WAITING = 16 /* events in a call; the others wait in the watch, one for each id */
};

static bool send_event(void *arg, const struct watch_event *event)
{
	Rawstack__V1__WatchEvent message = RAWSTACK__V1__WATCH_EVENT__INIT;
	struct build_id id = event->id;
	struct err err;

	if (rpc_call_waiting(arg) >= EVENTS_WAITING)
		return false;
	message.build_id = (ProtobufCBinaryData){id.len, id.bytes};
	message.status = event->failed ? RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_FAILED
				       : RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY;
	message.generation = event->generation;
	return !rpc_call_reply(arg, &message.base, &err);
}

static void end_watch(void *arg, int code, const char *message)
{
	rpc_call_finish(arg, code, message);
}

static int on_table_watch(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	const struct watch_reader reader = {
		.client = rpc_call_client(c), .arg = c, .send = send_event, .end = end_watch};
	struct watch *watch = NULL;
	int rc = service_watch(rpc_call_ctx(c), (const Rawstack__V1__WatchRequest *)request,
			       &reader, &watch, err);

	rpc_call_set_state(c, watch);
	return rc ? rc : RPC_OPEN;
}

static void on_watch_sent(struct rpc_call *c)
{
	struct watch *watch = rpc_call_state(c);

	if (watch)
		watch_pump(watch);
}

static void on_table_watch_closed(struct rpc_call *c)
{
	watch_close(rpc_call_state(c));
}

/* --- the table ------------------------------------------------------------------------------- */

/* A method without roles does not compile. */
#define METHOD(name, k, who, type, ...)                                     \
	{                                                                   \
		.path = "/rawstack.v1." name, .kind = k, .roles = (who),    \
		.request = &rawstack__v1__##type##__descriptor, __VA_ARGS__ \
	}

static const struct rpc_method templates[] = {
	METHOD("Symbolizer/Symbolize", RPC_UNARY, ROLES_LOOKUP, stack_batch,
	       .message = on_symbolize),
	METHOD("Symbolizer/SymbolizeStream", RPC_BIDI, ROLES_LOOKUP, stack_batch,
	       .message = on_stream_batch, .closed = on_stream_closed),
	METHOD("Symbolizer/Resolve", RPC_UNARY, ROLES_LOOKUP, resolve_request,
	       .message = on_resolve),
	METHOD("Binaries/Begin", RPC_UNARY, ROLES_UPLOAD, begin_request, .message = on_begin),
	METHOD("Binaries/Upload", RPC_CLIENT_STREAM, ROLES_UPLOAD, upload_chunk,
	       .message = on_chunk, .end = on_upload_end, .closed = on_upload_closed),
	METHOD("Binaries/Finish", RPC_UNARY, ROLES_UPLOAD, finish_request, .message = on_finish),
	METHOD("Binaries/Get", RPC_UNARY, ROLES_READ, get_request, .message = on_get),
	METHOD("Binaries/List", RPC_UNARY, ROLES_READ, list_request, .message = on_list),
	METHOD("Binaries/Delete", RPC_UNARY, ROLES_WRITE, delete_request, .message = on_delete),
	METHOD("Binaries/Pin", RPC_UNARY, ROLES_WRITE, pin_request, .message = on_pin),
	METHOD("Binaries/Missing", RPC_UNARY, ROLES_READ, missing_request, .message = on_missing),
	METHOD("Binaries/Watch", RPC_SERVER_STREAM, ROLES_LOOKUP, watch_request,
	       .message = on_table_watch, .sent = on_watch_sent, .closed = on_table_watch_closed),
	METHOD("Binaries/Limits", RPC_UNARY, ROLES_LOOKUP, limits_request, .message = on_limits),
};

struct service_rpc {
	struct rpc_method methods[ARRAY_LEN(templates)];
};

int service_rpc_open(struct service_rpc **ret, struct rpc_server *server, struct service *service,
		     struct err *err)
{
	struct service_rpc *r = calloc(1, sizeof(*r));

	if (!r)
		return err_no_memory(err);
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		r->methods[i] = templates[i];
		r->methods[i].ctx = service;
	}
	*ret = r;
	return rpc_server_add(server, r->methods, ARRAY_LEN(r->methods), err);
}

void service_rpc_close(struct service_rpc *r)
{
	free(r);
}
