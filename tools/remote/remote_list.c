/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_list.h"

#include <stdio.h>

#include "io.h"
#include "options.h"
#include "stdout_end.h"

/* Bounds the pages of a list, so that a service that never ends it does not keep the
 * command running for ever. */
#define LIMIT_LIST_PAGES 10000

static int read_pages(const struct remote_list *l, struct rpc_client *c, bool json,
		      struct text_table *t, struct buf *out, struct err *err)
{
	const struct io *io = io_system();
	_cleanup_(remote_free_reply) ProtobufCMessage *reply = NULL;
	struct remote_page page = {0};

	for (int pages = 0; pages < LIMIT_LIST_PAGES; pages++) {
		/* The token points into the reply before, which is freed after this turn. */
		_cleanup_(remote_free_reply) ProtobufCMessage *last _unused_ = TAKE_PTR(reply);

		TRY(l->call(c, page.next_token, &reply, err));
		page = l->page(reply);
		for (size_t i = 0; i < page.count; i++) {
			if (json)
				l->json(out, page.rows[i]);
			else
				l->table(t, page.rows[i], io->real_ns(io->ctx));
		}
		if (!page.next_token.len)
			return 0;
	}
	return err_set(err, ERR_LIMIT, "%s: the service sends more than %d pages",
		       command_name(l->command), LIMIT_LIST_PAGES);
}

struct list_options {
	struct server_options service;
	bool json;
};

const struct option_row remote_list_rows[] = {
	OPTION_ROWS(struct list_options, service, server_option_rows),
	OPTION_FLAG(0, "json", struct list_options, json, "one object per line"),
	OPTION_END,
};

int remote_list_run(const struct remote_list *l, int argc, char **argv, struct err *err)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	_cleanup_(text_table_done) struct text_table t;
	struct list_options o = {0};

	text_table_init(&t, l->head_count, l->right_mask);
	t.width_max = 2 * 64;
	for (size_t i = 0; i < l->head_count; i++)
		text_table_cstr(&t, l->heads[i]);
	TRY(options_parse(l->command->usage, argc, argv, &o, NULL, err));
	TRY(remote_open(&c, &o.service, err));
	TRY(read_pages(l, c, o.json, &t, &out, err));
	if ((!o.json && text_table_print(&t, &out)) || out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 0;
}
