/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack ls`: the binaries that the service has. */
#include <inttypes.h>

#include "json.h"
#include "limits.h"
#include "push_report.h"
#include "remote_list.h"

static void append_ls_cell(struct buf *out, const ProtobufCBinaryData *bytes)
{
	text_name(out, bytes->data, bytes->len);
}

static void put_listed_json(struct buf *out, const ProtobufCMessage *row)
{
	const Rawstack__V1__Binary *b = (const Rawstack__V1__Binary *)row;
	_cleanup_(buf_done) struct buf hex = BUF_INIT(LIMIT_MESSAGE_LEN);

	remote_append_hex(&hex, &b->build_id);
	json_open(out, '{');
	json_key_text(out, "build_id", hex.p, hex.len);
	json_key_text(out, "name", b->name.data, b->name.len);
	json_key_text(out, "version", b->version.data, b->version.len);
	json_key_cstr(out, "status", remote_module_status(b->status));
	json_key_text(out, "reason", b->reason.data, b->reason.len);
	json_key_number(out, "functions", b->report ? (int64_t)b->report->functions : 0);
	json_key_number(out, "inlined_calls", b->report ? (int64_t)b->report->inline_nodes : 0);
	json_key_bool(out, "dwarf", b->report && b->report->has_dwarf);
	json_key_bool(
		out, "executable_missing",
		b->report && push_report_misses(b->report,
						RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE));
	json_key_number(out, "table_bytes", b->report ? (int64_t)b->report->table_bytes : 0);
	json_key_bool(out, "pinned", b->pinned);
	json_key_number(out, "uploaded_unix_ns", (int64_t)b->uploaded_unix_ns);
	json_key_number(out, "used_unix_ns", (int64_t)b->used_unix_ns);
	json_close(out, '}');
	buf_str(out, "\n");
	if (hex.failed)
		out->failed = true;
}

static void put_listed_row(struct text_table *t, const ProtobufCMessage *row, uint64_t now_ns)
{
	const Rawstack__V1__Binary *b = (const Rawstack__V1__Binary *)row;

	remote_append_hex(text_table_cell(t), &b->build_id);
	text_table_end(t);
	text_table_cstr(t, remote_module_status(b->status));
	buf_printf(text_table_cell(t), "%" PRIu64, b->report ? b->report->functions : 0);
	text_table_end(t);
	if (b->report &&
	    push_report_misses(b->report, RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE))
		text_table_cstr(t, b->report->has_dwarf ? "DWARF, no executable"
							: "symbols, no executable");
	else
		text_table_cstr(t, b->report && b->report->has_dwarf ? "DWARF" : "symbols");
	text_bytes(text_table_cell(t), b->report ? b->report->table_bytes : 0);
	text_table_end(t);
	text_age(text_table_cell(t), b->uploaded_unix_ns, now_ns);
	text_table_end(t);
	append_ls_cell(text_table_cell(t), &b->name);
	if (b->version.len) {
		buf_str(text_table_cell(t), " ");
		append_ls_cell(text_table_cell(t), &b->version);
	}
	text_table_end(t);
}

static int call_list(struct rpc_client *c, ProtobufCBinaryData token, ProtobufCMessage **ret,
		     struct err *err)
{
	Rawstack__V1__ListRequest q = RAWSTACK__V1__LIST_REQUEST__INIT;

	q.page_token = token;
	q.page_size = LIMIT_PAGE;
	return rpc_client_call(c, "/rawstack.v1.Binaries/List", &q.base,
			       &rawstack__v1__list_reply__descriptor, REMOTE_TIMEOUT_MS, ret, err);
}

static struct remote_page list_page(const ProtobufCMessage *message)
{
	const Rawstack__V1__ListReply *reply = (const Rawstack__V1__ListReply *)message;

	return (struct remote_page){
		(const ProtobufCMessage *const *)reply->binaries,
		reply->n_binaries,
		reply->next_page_token,
	};
}

static int run_ls(int argc, char **argv, struct err *err)
{
	static const char *const heads[] = {"build id", "status", "functions", "from",
					    "table",    "pushed", "name"};
	static const struct remote_list list = {
		.command = &cmd_ls,
		.heads = heads,
		.head_count = ARRAY_LEN(heads),
		.right_mask = 1u << 2 | 1u << 4,
		.call = call_list,
		.page = list_page,
		.json = put_listed_json,
		.table = put_listed_row,
	};

	return remote_list_run(&list, argc, argv, err);
}

static const struct option_usage usage = {
	.name = "rawstack ls",
	.synopsis = "[OPTIONS]",
	.about = "Prints each binary that was pushed: its build id, whether its table is ready, "
		 "how many functions it has, and where their names come from.",
	.rows = remote_list_rows,
	.operands_wanted = "takes no arguments",
};

const struct command cmd_ls = {
	.usage = &usage,
	.run = run_ls,
	.summary = "list the binaries that the service has",
};
