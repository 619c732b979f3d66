/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVER_OPTIONS_H
#define RAWSTACK_SERVER_OPTIONS_H
/*
 * The options by which every client finds the service and identifies itself, and the environment
 * variables that replace missing ones. Texts are borrowed from argv and from the environment.
 */
#include "options.h"

struct server_options {
	const char *server; /* HOST:PORT or unix:PATH */
	const char *ca, *cert, *key, *token_file;
};

/* The rows of all these options, for a command whose struct contains a struct server_options:
 * OPTION_ROWS(). */
extern const struct option_row server_option_rows[];

/* The rows without --server, for commands that have one of their own. */
extern const struct option_row server_file_rows[];

/* Fills members that are NULL from RAWSTACK_SERVER, RAWSTACK_CA, RAWSTACK_CERT, RAWSTACK_KEY and
 * RAWSTACK_TOKEN_FILE. An empty text counts as none in both. */
struct server_options server_options_complete(const struct server_options *given);

#endif
