/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVER_OPTIONS_H
#define RAWSTACK_SERVER_OPTIONS_H
/*
 * The options by which every client finds the service and identifies itself. What the command line
 * of a command does not give comes from the environment (RAWSTACK_SERVER, RAWSTACK_CA,
 * RAWSTACK_CERT, RAWSTACK_KEY, RAWSTACK_TOKEN_FILE), and else from the user's file, which is
 * $XDG_CONFIG_HOME/rawstack/rawstack.conf or ~/.config/rawstack/rawstack.conf:
 *
 *	# NAME = VALUE, as in the files of the daemons (config.h)
 *	server = symbols-1.example:7077, symbols-2.example:7077
 *	ca = /etc/rawstack/ca.pem
 *	token-file = /home/ann/.config/rawstack/token
 *
 * On the command line and in the file an empty text means none, whatever a lower source says; an
 * empty variable is as if it were not set. Commands keep what the command line gave apart from the
 * rest, because some refuse a --server that has no use but none refuses the variable.
 */
#include "config.h"
#include "limits.h"

/* The service of a client that is told of none. */
#define SERVER_DEFAULT "127.0.0.1:7077"

struct server_options {
	const char *server; /* HOST:PORT, [ADDRESS]:PORT or unix:PATH; several: commas between */
	const char *ca, *cert, *key, *token_file;
};

/* The rows of all these options, for a command whose struct contains a struct server_options:
 * OPTION_ROWS(). */
extern const struct option_row server_option_rows[];

/* The rows without --server, for commands that have one of their own. */
extern const struct option_row server_file_rows[];

/* Describes struct server_options alone. */
extern const struct option_usage server_settings_usage;

/* Everything that is in force. Texts are borrowed from the command line, the environment, and this
 * struct. */
struct server_settings {
	struct server_options o; /* NULL: none */
	struct config config;
	char path[LIMIT_PATH_LEN]; /* of the user's file; empty: there is none */
};

/*
 * Completes what the command line gave. Returns 0; ERR_USAGE for a line of the user's file that is
 * wrong (FILE:LINE); ERR_DENIED for a file that others may have written; or the errors of
 * config_complete(). The caller calls server_settings_done() in each case.
 */
int server_settings_init(struct server_settings *s, const struct server_options *given,
			 struct err *err) _must_check_;

void server_settings_done(struct server_settings *s);

#endif
