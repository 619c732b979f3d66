/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_H
#define RAWSTACK_REMOTE_H
/* The service as the commands see it: where it is, one call to it, and bytes of its answers. */
#include "buf.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"

/* The time that one small call may take. */
#define REMOTE_TIMEOUT_MS 10000

/* server: HOST:PORT, or NULL for $RAWSTACK_SERVER, else 127.0.0.1:7077. */
int remote_open(struct rpc_client **ret, const char *server, struct err *err) _must_check_;

/* A reply of any type, for _cleanup_(). */
static inline void remote_free_reply(ProtobufCMessage **reply)
{
	if (*reply)
		protobuf_c_message_free_unpacked(*reply, NULL);
}

/* Lower-case hex of any bytes. */
void remote_append_hex(struct buf *out, const ProtobufCBinaryData *bytes);

/* "ready", "missing", ...: stable words. */
const char *remote_module_status(Rawstack__V1__ModuleStatus status);

#endif
