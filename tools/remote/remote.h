/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_H
#define RAWSTACK_REMOTE_H
/* The service as commands see it: its address, one call to it, and bytes of its answers. */
#include "buf.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"
#include "server_options.h"

/* The deadline of one small call. */
#define REMOTE_TIMEOUT_MS 10000

/* Opens a client. The environment and the user's file stand in for what was not given
 * (server_options.h), and 127.0.0.1:7077 for a server. Texts are copied. */
int remote_open(struct rpc_client **ret, const struct server_options *given,
		struct err *err) _must_check_;

/* Frees a reply of any type, for _cleanup_(). */
static inline void remote_free_reply(ProtobufCMessage **reply)
{
	if (*reply)
		protobuf_c_message_free_unpacked(*reply, NULL);
}

/* Appends bytes as lower-case hex. */
void remote_append_hex(struct buf *out, const ProtobufCBinaryData *bytes);

/* Returns "ready", "missing", ...: stable words. */
const char *remote_module_status(Rawstack__V1__ModuleStatus status);

#endif
