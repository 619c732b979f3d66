/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

int remote_open(struct rpc_client **ret, const struct server_options *given, struct err *err)
{
	_cleanup_(server_settings_done) struct server_settings s = {.path = ""};
	_cleanup_(rpc_identity_unrefp) struct rpc_identity *identity = NULL;
	const struct server_options *const o = &s.o;
	struct rpc_client_files files;

	TRY(server_settings_init(&s, given, err));
	files = (struct rpc_client_files){.tls = {o->cert, o->key, o->ca},
					  .token_file = o->token_file};
	TRY(rpc_identity_new(&identity, &files, err));
	return rpc_client_open_as(ret, o->server ? o->server : SERVER_DEFAULT, identity, err);
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
