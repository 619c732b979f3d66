/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_START_CHECK_H
#define RAWSTACK_START_CHECK_H
/*
 * Checks what a start needs beside the words of the configuration; --check-config does so, too.
 * Nothing is made or kept open. If another user than the service's checks, the result may differ
 * from what the service will find.
 */
#include "err.h"
#include "listen_list.h"
#include "rpc_server.h"

/* Checks the worker, without which every upload fails (worker_path may be NULL), and certificates,
 * roles and tokens. The server reads these again once everything else is open. */
int start_check_files(const char *worker_path, const struct rpc_server_config *c,
		      struct err *err) _must_check_;

/* Paths may be NULL. */
struct start_check {
	const struct listen_list *listen;
	const char *data_dir;
	const char *port_files[3];
};

/* Returns 0, or the first error: an address that the machine does not have, or that this user may
 * not have; a data directory that is none; a directory of a port file that is not there. */
int start_check_surroundings(const struct start_check *c, struct err *err) _must_check_;

#endif
