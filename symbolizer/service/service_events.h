/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_EVENTS_H
#define RAWSTACK_SERVICE_EVENTS_H
/* Logs uploads and changes, each with the call that brought it. The server itself logs calls that
 * were refused or failed. Safe from any thread. */
#include "rawstack/v1/binaries.pb-c.h"
#include "rpc_method.h"

/* Logs the answer to Begin. */
void service_event_begin(const struct rpc_call *c, const Rawstack__V1__BeginRequest *request,
			 const Rawstack__V1__BeginReply *reply);

/* Logs that all of an upload came, so that a table is built of it. */
void service_event_finish(const struct rpc_call *c, const ProtobufCBinaryData *upload_id);

/* Logs a Delete or a Pin. action and result are literals: what was asked for, and what came of it.
 */
void service_event_change(const struct rpc_call *c, const char *action,
			  const ProtobufCBinaryData *build_id, const char *result);

#endif
