/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack missing`: what samples came from and nobody pushed. */
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "io.h"
#include "json_line.h"
#include "limits.h"
#include "remote.h"
#include "text.h"

/* Pages, not rows: a service that never ends its list must not keep us for ever. */
#define PAGES_MAX 10000

static void append(struct buf *out, const ProtobufCBinaryData *bytes)
{
	text_append(out, bytes->data, bytes->len);
}

static void json_binary(struct buf *out, const Rawstack__V1__MissingBinary *b)
{
	_cleanup_(buf_done) struct buf hex = BUF_INIT(LIMIT_MESSAGE_LEN);

	remote_append_hex(&hex, &b->build_id);
	json_open(out, '{');
	json_key_text(out, "build_id", hex.p, hex.len);
	json_key_number(out, "samples", (int64_t)b->weight);
	json_key_cstr(out, "status", remote_module_status(b->status));
	json_key_number(out, "first_unix_ns", (int64_t)b->first_unix_ns);
	json_key_number(out, "last_unix_ns", (int64_t)b->last_unix_ns);
	json_key(out, "paths");
	json_open(out, '[');
	for (size_t i = 0; i < b->n_paths; i++)
		json_text(out, b->paths[i].data, b->paths[i].len);
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
	if (hex.failed)
		out->failed = true;
}

static void table_binary(struct text_table *t, const Rawstack__V1__MissingBinary *b,
			 uint64_t now_ns)
{
	remote_append_hex(text_table_cell(t), &b->build_id);
	text_table_end(t);
	buf_printf(text_table_cell(t), "%" PRIu64, b->weight);
	text_table_end(t);
	text_table_cstr(t, remote_module_status(b->status));
	text_age(text_table_cell(t), b->last_unix_ns, now_ns);
	text_table_end(t);
	for (size_t i = 0; i < b->n_paths; i++) {
		if (i)
			buf_str(text_table_cell(t), " ");
		append(text_table_cell(t), &b->paths[i]);
	}
	text_table_end(t);
}

static void table_head(struct text_table *t)
{
	static const char *const heads[] = {"build id", "samples", "status", "last asked", "path"};

	text_table_init(t, ARRAY_LEN(heads), 1u << 1);
	t->width_max = 2 * 64;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		text_table_cstr(t, heads[i]);
}

static int list(struct rpc_client *c, bool json, struct text_table *t, struct buf *out,
		struct err *err)
{
	const struct io *io = io_system();
	ProtobufCMessage *page = NULL;
	int rc = 0;

	for (int pages = 0; pages < PAGES_MAX; pages++) {
		Rawstack__V1__MissingRequest q = RAWSTACK__V1__MISSING_REQUEST__INIT;
		_cleanup_(remote_free_reply) ProtobufCMessage *last = page;
		const Rawstack__V1__MissingReply *reply = (const Rawstack__V1__MissingReply *)page;

		page = NULL;
		if (reply && !reply->next_page_token.len)
			return 0;
		if (reply)
			q.page_token = reply->next_page_token;
		q.page_size = LIMIT_PAGE;
		rc = rpc_client_call(c, "/rawstack.v1.Binaries/Missing", &q.base,
				     &rawstack__v1__missing_reply__descriptor, REMOTE_TIMEOUT_MS,
				     &page, err);
		if (rc)
			return rc;
		reply = (const Rawstack__V1__MissingReply *)page;
		for (size_t i = 0; i < reply->n_binaries; i++) {
			if (json)
				json_binary(out, reply->binaries[i]);
			else
				table_binary(t, reply->binaries[i], io->real_ns(io->ctx));
		}
	}
	remote_free_reply(&page);
	return err_set(err, ERR_LIMIT, "missing: the service's list does not end");
}

static int run_missing(int argc, char **argv, struct err *err)
{
	static const struct option options[] = {
		{"server", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	_cleanup_(text_table_done) struct text_table t;
	const char *server = NULL;
	bool json = false;
	int rc, o;

	table_head(&t);
	while ((o = command_option(argc, argv, ":", options, err)) != -1) {
		if (o == 's')
			server = optarg;
		else if (o == 'j')
			json = true;
		else
			return ERR_USAGE;
	}
	if (optind < argc)
		return command_usage(&cmd_missing, "takes no arguments", err);
	rc = remote_open(&c, server, err);
	if (!rc)
		rc = list(c, json, &t, &out, err);
	if (rc)
		return rc;
	if ((!json && text_table_print(&t, &out)) || out.failed)
		return err_set(err, ERR_MEMORY, "missing: out of memory");
	fwrite(out.p, 1, out.len, stdout);
	return 0;
}

const struct command cmd_missing = {
	.name = "missing",
	.run = run_missing,
	.summary = "list binaries that were asked for and are not there",
	.help = "usage: rawstack missing [OPTIONS]\n"
		"\n"
		"Prints the build ids that samples came from and that the service has no table "
		"for,\n"
		"heaviest first, with the paths where hosts saw them. `rawstack push` brings "
		"them.\n"
		"\n"
		"  --server HOST:PORT     the service\n"
		"  --json                 one object per line\n",
};
