/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVER_OPTIONS_H
#define RAWSTACK_SERVER_OPTIONS_H
/*
 * Where the service is, and what is shown to it: the options that every client has, and the
 * variables of the environment that stand in for those that were not given. Texts are borrowed from
 * both.
 */
#include "options.h"

struct server_options {
	const char *server; /* HOST:PORT or unix:PATH */
	const char *ca, *cert, *key, *token_file;
};

/* All of them, for a command with a struct server_options in its own: OPTION_ROWS(). */
extern const struct option_row server_option_rows[];

/* The same without --server, for commands that have one of their own. */
extern const struct option_row server_file_rows[];

/* Fills what is NULL from RAWSTACK_SERVER, RAWSTACK_CA, RAWSTACK_CERT, RAWSTACK_KEY and
 * RAWSTACK_TOKEN_FILE. An empty text, of either, is as good as none. */
struct server_options server_options_complete(const struct server_options *given);

#endif
