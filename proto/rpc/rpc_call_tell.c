/* SPDX-License-Identifier: Apache-2.0 */
/* Logs calls: who made them, and how they ended. */
#include <grpc/support/alloc.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "io.h"
#include "rpc_call_priv.h"
#include "rpc_codec.h"
#include "rpc_peer.h"

uint64_t rpc_call_number(const struct rpc_call *c)
{
	return c->number;
}

const char *rpc_call_who(const struct rpc_call *c)
{
	return c->pass.caller.who;
}

void rpc_call_event(const struct rpc_call *c, struct event *e)
{
	const uint64_t now = io_mono_ns();
	char peer[RPC_PEER_NAME_MAX], *text = grpc_call_get_peer(c->call);

	rpc_peer_name(text ? text : "", peer, sizeof(peer));
	gpr_free(text);
	event_hex64(e, "request", c->number);
	event_text(e, "client", peer);
	if (*c->pass.caller.who)
		event_text(e, "identity", c->pass.caller.who);
	event_text(e, "method", c->method ? c->method->path + 1 : "other");
	event_seconds(e, "seconds", now > c->begin_ns ? now - c->begin_ns : 0);
}

/* Chooses kind and level of the line about the end of a call. Ends that clients bring about
 * themselves, and answers that are no error to them, are only logged for those who want to see each
 * call. */
static enum event_kind kind_of_end(grpc_status_code status, enum log_level *ret_level)
{
	switch (status) {
	case GRPC_STATUS_OK:
	case GRPC_STATUS_CANCELLED:
	case GRPC_STATUS_NOT_FOUND:
	case GRPC_STATUS_ALREADY_EXISTS:
		*ret_level = LOG_DEBUG;
		return EVENT_REQUEST;
	case GRPC_STATUS_INTERNAL:
	case GRPC_STATUS_UNKNOWN:
	case GRPC_STATUS_DATA_LOSS:
		*ret_level = LOG_ERROR;
		return EVENT_FAILURE;
	default:
		*ret_level = LOG_WARN;
		return EVENT_REFUSAL;
	}
}

void rpc_call_tell_end(const struct rpc_call *c, grpc_status_code status, const char *message)
{
	enum log_level level;
	enum event_kind kind = kind_of_end(status, &level);
	struct event e;

	if (!event_begin(&e, level, kind))
		return;
	rpc_call_event(c, &e);
	event_text(&e, "status", rpc_status_name(status));
	if (*message)
		event_text(&e, "reason", message);
	event_end(&e);
}
