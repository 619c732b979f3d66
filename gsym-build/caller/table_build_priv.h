/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_BUILD_PRIV_H
#define RAWSTACK_TABLE_BUILD_PRIV_H
/* Shared by the callers of the worker and of the verifier. */
#include "table_build.h"
#include "worker_protocol.h"

struct worker_program {
	const char *file; /* file name as installed */
	const char *name; /* in errors */
};

extern const struct worker_program table_worker; /* builds, and inspects */

struct worker_extra {
	const struct worker_program *program;
	enum worker_task task;
	int table_fd; /* the table to verify, or -1 */
};

/*
 * Runs a worker or verifier from its start to its reply. Fills *request from *req, and
 * *req->missing with the references that it missed. Returns 0 if the program replied, perhaps with
 * an error (reply->code), else errors as table_build().
 */
int table_run_worker(const struct table_request *req, const struct worker_extra *extra,
		     struct worker_request *request, struct worker_reply *reply,
		     struct err *err) _must_check_;

#endif
