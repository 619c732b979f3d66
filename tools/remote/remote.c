/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#define DEFAULT_SERVER "127.0.0.1:7077"

int remote_open(struct rpc_client **ret, const struct server_options *given, struct err *err)
{
	const struct server_options o = server_options_complete(given);
	const struct rpc_client_files files = {.tls = {o.cert, o.key, o.ca},
					       .token_file = o.token_file};

	_cleanup_(rpc_identity_unrefp) struct rpc_identity *identity = NULL;
	int rc = rpc_identity_new(&identity, &files, err);

	return rc ? rc
		  : rpc_client_open_as(ret, o.server ? o.server : DEFAULT_SERVER, identity, err);
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
