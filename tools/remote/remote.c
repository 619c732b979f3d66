/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include <stdlib.h>

#define DEFAULT_SERVER "127.0.0.1:7077"

int remote_open(struct rpc_client **ret, const char *server, struct err *err)
{
	if (!server)
		server = getenv("RAWSTACK_SERVER");
	return rpc_client_open(ret, server && server[0] ? server : DEFAULT_SERVER, err);
}

void remote_append_hex(struct buf *out, const ProtobufCBinaryData *bytes)
{
	for (size_t i = 0; i < bytes->len; i++)
		buf_printf(out, "%02x", bytes->data[i]);
}

const char *remote_module_status(Rawstack__V1__ModuleStatus status)
{
	static const char *const names[] = {"unknown", "ready",  "missing",     "building",
					    "failed",  "purged", "unsupported", "damaged"};

	return (size_t)status < ARRAY_LEN(names) ? names[status] : names[0];
}
