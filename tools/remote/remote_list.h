/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_LIST_H
#define RAWSTACK_REMOTE_LIST_H
/*
 * A command that prints a list of the service, page by page, as a table or as JSON lines: what
 * `ls` and `missing` have in common. A list says what its pages and its rows are.
 */
#include "command.h"
#include "remote.h"
#include "text.h"

/* A page of a reply: its rows, and where the next page begins (empty: nowhere). */
struct remote_page {
	const ProtobufCMessage *const *rows;
	size_t count;
	ProtobufCBinaryData next_token;
};

struct remote_list {
	const struct command *command;
	const char *const *heads; /* of the table's columns */
	size_t head_count;
	uint32_t right_mask; /* columns that are numbers */

	/* One call for the page at a token (empty: the first). */
	int (*call)(struct rpc_client *c, ProtobufCBinaryData token, ProtobufCMessage **ret,
		    struct err *err);
	struct remote_page (*page)(const ProtobufCMessage *reply);
	void (*json)(struct buf *out, const ProtobufCMessage *row);
	void (*table)(struct text_table *t, const ProtobufCMessage *row, uint64_t now_ns);
};

/* The options of such a command, for its usage. */
extern const struct option_row remote_list_rows[];

/* The whole command: options, pages, output. Nothing is printed when a page fails. */
int remote_list_run(const struct remote_list *l, int argc, char **argv, struct err *err);

#endif
