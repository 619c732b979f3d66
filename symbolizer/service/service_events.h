/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_EVENTS_H
#define RAWSTACK_SERVICE_EVENTS_H
/* What the log says of uploads and changes, with the call that brought them. Refused and failed
 * calls are told by the server itself. */
#include "rawstack/v1/binaries.pb-c.h"
#include "rpc_method.h"

void service_event_begin(const struct rpc_call *c, const Rawstack__V1__BeginRequest *request,
			 const Rawstack__V1__BeginReply *reply);

/* All of an upload came, and a table is built of it. */
void service_event_finish(const struct rpc_call *c, const ProtobufCBinaryData *upload_id);

/* action is a literal, result what came of it. */
void service_event_change(const struct rpc_call *c, const char *action,
			  const ProtobufCBinaryData *build_id, const char *result);

#endif
