/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REMOTE_LIST_H
#define RAWSTACK_REMOTE_LIST_H
/*
 * Runs a command that prints a list of the service page by page, as a table or as JSON lines. `ls`
 * and `missing` are such commands; each says what its pages and rows are.
 */
#include "command.h"
#include "remote.h"
#include "text.h"

/* A page of a reply: its rows, and the token of the next page (empty: there is none). */
struct remote_page {
	const ProtobufCMessage *const *rows;
	size_t count;
	ProtobufCBinaryData next_token;
};

struct remote_list {
	const struct command *command;
	const char *const *heads; /* headings of the table's columns */
	size_t head_count;
	uint32_t right_mask; /* bit i: column i is a number */

	/* Calls the service for the page at a token (empty: the first). */
	int (*call)(struct rpc_client *c, ProtobufCBinaryData token, ProtobufCMessage **ret,
		    struct err *err);
	struct remote_page (*page)(const ProtobufCMessage *reply);
	void (*json)(struct buf *out, const ProtobufCMessage *row);
	void (*table)(struct text_table *t, const ProtobufCMessage *row, uint64_t now_ns);
};

/* The options of such a command, for its usage. */
extern const struct option_row remote_list_rows[];

/* Runs the whole command: options, pages, output. Prints nothing if a page fails. */
int remote_list_run(const struct remote_list *l, int argc, char **argv, struct err *err);

#endif
