/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "binary_select.h"
#include "limits.h"
#include "resolve_service.h"

struct resolve_service {
	struct rpc_client *client;
	struct build_id id;
};

static const char *location_status(Rawstack__V1__LocationStatus status)
{
	static const char *const names[] = {
		"unknown",        "resolved",  "symbol_only",   "no_line",
		"unknown_module", "building",  "not_in_module", "unresolved",
		"deferred",       "malformed", "host_named",
	};

	return (size_t)status < ARRAY_LEN(names) ? names[status] : names[0];
}

/* Returns 0 if the module can answer, or else an error that says why not. */
static int check_module(const Rawstack__V1__ModuleReply *m, const struct build_id *id,
			struct err *err)
{
	char hex[BUILD_ID_HEX_MAX];

	build_id_hex(id, hex);
	if (!m)
		return err_set(err, ERR_INTERNAL, "%s: the reply of the service has no module",
			       hex);
	switch (m->status) {
	case RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY:
		return 0;
	case RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_MISSING:
		return err_set(err, ERR_NOT_FOUND,
			       "build id %s: unknown to the service: rawstack push its binary",
			       hex);
	case RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_PURGED:
		if (m->reason.len)
			return err_set(err, ERR_NOT_FOUND, "build id %s: %.*s", hex,
				       (int)m->reason.len, (const char *)m->reason.data);
		return err_set(err, ERR_NOT_FOUND,
			       "build id %s: no longer stored: rawstack push its binary again",
			       hex);
	case RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_BUILDING:
		return err_set(err, ERR_UNAVAILABLE, "build id %s: its table is being built", hex);
	default:
		return err_set(err, ERR_DATA, "build id %s: %s: %.*s", hex,
			       remote_module_status(m->status), (int)m->reason.len,
			       m->reason.len ? (const char *)m->reason.data : "");
	}
}

static bool is_deferred(const Rawstack__V1__ResolvedAddress *a)
{
	return a->status == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED;
}

static void print_remote_address(const Rawstack__V1__ResolvedAddress *a,
				 struct resolve_printer *printer, size_t *unknown)
{
	resolve_begin(printer, a->address, location_status(a->status));
	for (size_t i = 0; i < a->n_frames; i++) {
		const Rawstack__V1__Frame *f = a->frames[i];

		resolve_frame(printer, &(struct resolve_frame){
					       .function = f->function.data,
					       .function_len = f->function.len,
					       .file = f->file.data,
					       .file_len = f->file.len,
					       .line = f->line,
					       .inlined = f->inlined,
				       });
	}
	resolve_end(printer);
	*unknown += a->n_frames == 0;
}

/* Asks for the addresses of a query from *at on, prints those that the service answers, and moves
 * *at behind them. The service defers addresses that do not fit its reply. */
static int ask_lines(struct resolve_service *s, const struct resolve_query *q, size_t *at,
		     struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	_cleanup_(remote_free_reply) ProtobufCMessage *message = NULL;
	Rawstack__V1__ResolveRequest request;
	const Rawstack__V1__ResolveReply *reply;
	size_t left = q->count - *at, answered;

	rawstack__v1__resolve_request__init(&request);
	request.build_id.data = s->id.bytes;
	request.build_id.len = s->id.len;
	request.kind = q->file_off ? RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF
				   : RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
	request.mode = q->return_address ? RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_RETURN
					 : RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_EXACT;
	request.demangle = q->demangle == RESOLVE_DEMANGLED ? RAWSTACK__V1__DEMANGLE__DEMANGLE_FULL
							    : RAWSTACK__V1__DEMANGLE__DEMANGLE_NONE;
	request.addresses = (uint64_t *)(uintptr_t)(q->addresses + *at);
	request.n_addresses = left < LIMIT_RESOLVE_ADDRESSES ? left : LIMIT_RESOLVE_ADDRESSES;
	TRY(rpc_client_call(s->client, "/rawstack.v1.Symbolizer/Resolve", &request.base,
			    &rawstack__v1__resolve_reply__descriptor, REMOTE_TIMEOUT_MS, &message,
			    err));
	reply = (const Rawstack__V1__ResolveReply *)message;
	TRY(check_module(reply->module, &s->id, err));
	if (reply->n_addresses != request.n_addresses)
		return err_set(err, ERR_INTERNAL, "the service answers %zu of %zu addresses",
			       reply->n_addresses, request.n_addresses);
	/* An address whose answer does not fit a reply of its own stays deferred. */
	for (answered = 0; answered < reply->n_addresses &&
			   (answered == 0 || !is_deferred(reply->addresses[answered]));
	     answered++)
		print_remote_address(reply->addresses[answered], printer, unknown);
	*at += answered;
	return 0;
}

static void close_service(struct resolve_service *s)
{
	if (s)
		rpc_client_close(s->client);
	free(s);
}
DEFINE_FREEP(struct resolve_service, close_service);

static int open_service(struct resolve_service **ret, const struct resolve_service_of *of,
			struct err *err)
{
	_cleanup_(close_servicep) struct resolve_service *s = calloc(1, sizeof(*s));

	if (!s)
		return err_no_memory(err);
	TRY(of->build_id ? build_id_parse(&s->id, of->build_id, err) : 0);
	TRY(remote_open(&s->client, of->service, err));
	if (of->name)
		TRY(binary_select_find(
			s->client, &(struct binary_select){of->name, of->labels, of->label_count},
			&s->id, err));
	*ret = TAKE_PTR(s);
	return 0;
}

static int answer_query(struct resolve_service *s, const struct resolve_query *q,
			struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	for (size_t at = 0; at < q->count;)
		TRY(ask_lines(s, q, &at, printer, unknown, err));
	return 0;
}

const struct resolve_service_ops resolve_remote = {
	.open = open_service,
	.answer = answer_query,
	.close = close_service,
};
