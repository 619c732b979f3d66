/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack missing`: lists the binaries that samples came from and nobody pushed. */
#include <inttypes.h>

#include "json.h"
#include "limits.h"
#include "remote_list.h"

static void append_missing_cell(struct buf *out, const ProtobufCBinaryData *bytes)
{
	text_name(out, bytes->data, bytes->len);
}

static void put_missing_json(struct buf *out, const ProtobufCMessage *row)
{
	const Rawstack__V1__MissingBinary *b = (const Rawstack__V1__MissingBinary *)row;
	_cleanup_(buf_done) struct buf hex = BUF_INIT(LIMIT_MESSAGE_LEN);

	remote_append_hex(&hex, &b->build_id);
	json_open(out, '{');
	json_key_text(out, "build_id", hex.p, hex.len);
	json_key_number(out, "samples", (int64_t)b->weight);
	json_key_cstr(out, "status", remote_module_status(b->status));
	if (b->wanted == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE)
		json_key_cstr(out, "wanted", "executable");
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

static void put_missing_cells(struct text_table *t, const ProtobufCMessage *row, uint64_t now_ns)
{
	const Rawstack__V1__MissingBinary *b = (const Rawstack__V1__MissingBinary *)row;

	remote_append_hex(text_table_cell(t), &b->build_id);
	text_table_end(t);
	buf_printf(text_table_cell(t), "%" PRIu64, b->weight);
	text_table_end(t);
	text_table_cstr(t, b->wanted == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE
				   ? "no executable"
				   : remote_module_status(b->status));
	text_age(text_table_cell(t), b->last_unix_ns, now_ns);
	text_table_end(t);
	for (size_t i = 0; i < b->n_paths; i++) {
		if (i)
			buf_str(text_table_cell(t), " ");
		append_missing_cell(text_table_cell(t), &b->paths[i]);
	}
	text_table_end(t);
}

static int call_missing(struct rpc_client *c, ProtobufCBinaryData token, ProtobufCMessage **ret,
			struct err *err)
{
	Rawstack__V1__MissingRequest q = RAWSTACK__V1__MISSING_REQUEST__INIT;

	q.page_token = token;
	q.page_size = LIMIT_PAGE;
	return rpc_client_call(c, "/rawstack.v1.Binaries/Missing", &q.base,
			       &rawstack__v1__missing_reply__descriptor, REMOTE_TIMEOUT_MS, ret,
			       err);
}

static struct remote_page missing_page(const ProtobufCMessage *message)
{
	const Rawstack__V1__MissingReply *reply = (const Rawstack__V1__MissingReply *)message;

	return (struct remote_page){
		(const ProtobufCMessage *const *)reply->binaries,
		reply->n_binaries,
		reply->next_page_token,
	};
}

static int run_missing(int argc, char **argv, struct err *err)
{
	static const char *const heads[] = {"build id", "samples", "status", "last asked", "path"};
	static const struct remote_list list = {
		.command = &cmd_missing,
		.heads = heads,
		.head_count = ARRAY_LEN(heads),
		.right_mask = 1u << 1,
		.call = call_missing,
		.page = missing_page,
		.json = put_missing_json,
		.table = put_missing_cells,
	};

	return remote_list_run(&list, argc, argv, err);
}

static const struct option_usage usage = {
	.name = "rawstack missing",
	.synopsis = "[OPTIONS]",
	.about = "Prints the build ids that samples refer to and for which the service has no "
		 "table, the most frequent first, with the paths that hosts reported. Use "
		 "`rawstack push` to add them.",
	.rows = remote_list_rows,
	.operands_wanted = "takes no arguments",
};

const struct command cmd_missing = {
	.usage = &usage,
	.run = run_missing,
	.summary = "list binaries that samples need and the service lacks",
};
