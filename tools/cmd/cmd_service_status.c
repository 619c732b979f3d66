/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack status`: the service at a glance. */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "io.h"
#include "json.h"
#include "limits.h"
#include "options.h"
#include "remote.h"
#include "stdout_end.h"
#include "text.h"

/* Missing ids that are shown, those of most weight. */
#define SHOWN 5

struct status_options {
	struct server_options service;
	bool json;
};

static const struct option_row rows[] = {
	OPTION_ROWS(struct status_options, service, server_option_rows),
	OPTION_FLAG(0, "json", struct status_options, json, "one object"),
	OPTION_END,
};

static void put_service_text(const Rawstack__V1__LimitsReply *l,
			     const Rawstack__V1__MissingReply *m, uint64_t now_ns, struct buf *out)
{
	buf_str(out, "service   ");
	if (l->version.len) {
		buf_str(out, "version ");
		text_name(out, l->version.data, l->version.len);
		buf_str(out, ", started ");
		text_age(out, l->started_unix_ns, now_ns);
	} else {
		buf_str(out, "an older version, which tells only its limits");
	}
	buf_printf(out, "\ntables    %" PRIu64 ", ", l->tables);
	text_bytes(out, l->store_used_bytes);
	buf_str(out, " of ");
	text_bytes(out, l->store_bytes);
	buf_printf(out, ", format %u.%u\n", l->table_major, l->table_minor);
	buf_printf(out,
		   "uploads   %" PRIu64 ", %" PRIu64 " of them complete; %" PRIu64
		   " are built at once\n",
		   l->uploads, l->uploads_building, l->workers);
	buf_printf(out, "missing   %" PRIu64 " ids%s\n", l->missing,
		   m->n_binaries ? ", of most weight:" : "");
	for (size_t i = 0; i < m->n_binaries && i < SHOWN; i++) {
		const Rawstack__V1__MissingBinary *b = m->binaries[i];

		buf_str(out, "          ");
		remote_append_hex(out, &b->build_id);
		buf_printf(out, "  %" PRIu64 "  ", b->weight);
		if (b->n_paths)
			text_name(out, b->paths[0].data, b->paths[0].len);
		buf_str(out, "\n");
	}
}

static void put_service_json(const Rawstack__V1__LimitsReply *l,
			     const Rawstack__V1__MissingReply *m, struct buf *out)
{
	json_open(out, '{');
	json_key_text(out, "version", l->version.data, l->version.len);
	json_key_number(out, "started_unix_ns", (int64_t)l->started_unix_ns);
	json_key_number(out, "tables", (int64_t)l->tables);
	json_key_number(out, "store_used_bytes", (int64_t)l->store_used_bytes);
	json_key_number(out, "store_bytes", (int64_t)l->store_bytes);
	json_key_number(out, "table_major", l->table_major);
	json_key_number(out, "table_minor", l->table_minor);
	json_key_number(out, "uploads", (int64_t)l->uploads);
	json_key_number(out, "uploads_building", (int64_t)l->uploads_building);
	json_key_number(out, "missing", (int64_t)l->missing);
	json_key(out, "missing_most");
	json_open(out, '[');
	for (size_t i = 0; i < m->n_binaries && i < SHOWN; i++) {
		const Rawstack__V1__MissingBinary *b = m->binaries[i];
		_cleanup_(buf_done) struct buf hex = BUF_INIT(LIMIT_MESSAGE_LEN);

		remote_append_hex(&hex, &b->build_id);
		out->failed |= hex.failed;
		json_open(out, '{');
		json_key_text(out, "build_id", hex.p, hex.len);
		json_key_number(out, "samples", (int64_t)b->weight);
		if (b->n_paths)
			json_key_text(out, "path", b->paths[0].data, b->paths[0].len);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
}

static int run_service_status(int argc, char **argv, struct err *err)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	_cleanup_(remote_free_reply) ProtobufCMessage *limits = NULL, *missing = NULL;
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_MESSAGE_LEN);
	Rawstack__V1__LimitsRequest ask = RAWSTACK__V1__LIMITS_REQUEST__INIT;
	Rawstack__V1__MissingRequest ask_missing = RAWSTACK__V1__MISSING_REQUEST__INIT;
	struct status_options o = {0};

	ask_missing.page_size = SHOWN;
	TRY(options_parse(cmd_service_status.usage, argc, argv, &o, NULL, err));
	TRY(remote_open(&c, &o.service, err));
	TRY(rpc_client_call(c, "/rawstack.v1.Binaries/Limits", &ask.base,
			    &rawstack__v1__limits_reply__descriptor, REMOTE_TIMEOUT_MS, &limits,
			    err));
	TRY(rpc_client_call(c, "/rawstack.v1.Binaries/Missing", &ask_missing.base,
			    &rawstack__v1__missing_reply__descriptor, REMOTE_TIMEOUT_MS, &missing,
			    err));
	if (o.json)
		put_service_json((const Rawstack__V1__LimitsReply *)limits,
				 (const Rawstack__V1__MissingReply *)missing, &out);
	else
		put_service_text((const Rawstack__V1__LimitsReply *)limits,
				 (const Rawstack__V1__MissingReply *)missing,
				 io_system()->real_ns(NULL), &out);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 0;
}

static const struct option_usage usage = {
	.name = "rawstack status",
	.synopsis = "[OPTIONS]",
	.about = "Prints how a service is: its version, what its store has and may take, uploads "
		 "under way, and the missing build ids of most weight. The state of a sampler is "
		 "`rawstack-sampler status DIR`.",
	.rows = rows,
	.operands_wanted = "takes no arguments; of a sampler it is rawstack-sampler status DIR",
};

const struct command cmd_service_status = {
	.usage = &usage,
	.run = run_service_status,
	.summary = "print the state of the service",
};
