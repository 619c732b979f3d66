/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_START_CHECK_H
#define RAWSTACK_START_CHECK_H
/*
 * Checks what a start needs beside the words of the configuration; --check-config does so, too.
 * Nothing is made or kept open. If another user than the service's checks, the result may differ
 * from what the service will find.
 */
#include "config.h"
#include "err.h"
#include "rpc_server.h"

/* Checks the worker, without which every upload fails (worker_path may be NULL), and certificates,
 * roles and tokens. The server reads these again once everything else is open. */
int start_check_files(const char *worker_path, const struct rpc_server_config *c,
		      struct err *err) _must_check_;

/* The values of options that lead somewhere; NULL: not given. */
struct start_values {
	const struct rpc_server_config *server;
	const char *data_dir, *worker_path;
	const char *http, *metrics; /* addresses */
	bool http_open;
	const char *port_files[3]; /* of port-file, http-port-file and metrics-port-file */
};

/* Checks that files can be read, directories written to, and HTTP addresses understood. An error
 * names the line that has the value (config_check.h). */
int start_check_values(const struct start_values *v, const struct config *c,
		       const struct option_usage *usage, struct err *err) _must_check_;

#endif
