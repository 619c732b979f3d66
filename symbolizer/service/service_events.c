/* SPDX-License-Identifier: Apache-2.0 */
#include "service_events.h"

#include "event.h"
#include "uploads.h"

static const char *begin_status_word(Rawstack__V1__BeginStatus status)
{
	switch (status) {
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_NEEDED:
		return "needed";
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_PRESENT:
		return "present";
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_IN_PROGRESS:
		return "in_progress";
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_OVER_QUOTA:
		return "over_quota";
	case RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_UNSUPPORTED:
		return "unsupported";
	default:
		return "other";
	}
}

/* Chooses level and kind of the line for an answer to Begin. IN_PROGRESS is only LOG_DEBUG, because
 * a client asks again and again while another one sends the file. */
static enum log_level level_of_begin(Rawstack__V1__BeginStatus status, enum event_kind *ret_kind)
{
	*ret_kind = EVENT_UPLOAD;
	if (status == RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_IN_PROGRESS)
		return LOG_DEBUG;
	if (status != RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_OVER_QUOTA &&
	    status != RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_UNSUPPORTED)
		return LOG_INFO;
	*ret_kind = EVENT_REFUSAL;
	return LOG_WARN;
}

/* Adds the first bytes of the id, which suffice to tell uploads apart. The log must not show all of
 * them, because whoever knows the whole id may go on with the upload. */
static void event_upload_id(struct event *e, const ProtobufCBinaryData *id)
{
	if (id->len)
		event_hex(e, "upload", id->data,
			  id->len < UPLOAD_SHOWN_LEN ? id->len : UPLOAD_SHOWN_LEN);
}

void service_event_begin(const struct rpc_call *c, const Rawstack__V1__BeginRequest *request,
			 const Rawstack__V1__BeginReply *reply)
{
	enum event_kind kind;
	enum log_level level = level_of_begin(reply->status, &kind);
	struct event e;

	if (!event_begin(&e, level, kind))
		return;
	rpc_call_event(c, &e);
	event_text(&e, "result", begin_status_word(reply->status));
	event_upload_id(&e, &reply->upload_id);
	event_hex(&e, "build_id", request->build_id.data, request->build_id.len);
	event_number(&e, "bytes", request->size);
	event_number(&e, "offset", reply->offset);
	event_bytes(&e, "name", request->name.data, request->name.len);
	if (reply->reason.len)
		event_bytes(&e, "reason", reply->reason.data, reply->reason.len);
	event_end(&e);
}

void service_event_finish(const struct rpc_call *c, const ProtobufCBinaryData *upload_id)
{
	struct event e;

	if (!event_begin(&e, LOG_INFO, EVENT_UPLOAD))
		return;
	rpc_call_event(c, &e);
	event_text(&e, "result", "complete");
	event_upload_id(&e, upload_id);
	event_end(&e);
}

void service_event_change(const struct rpc_call *c, const char *action,
			  const ProtobufCBinaryData *build_id, const char *result)
{
	struct event e;

	if (!event_begin(&e, LOG_INFO, EVENT_CHANGE))
		return;
	rpc_call_event(c, &e);
	event_text(&e, "action", action);
	event_hex(&e, "build_id", build_id->data, build_id->len);
	event_text(&e, "result", result);
	event_end(&e);
}
