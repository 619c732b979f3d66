/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_BUILD_PRIV_H
#define RAWSTACK_TABLE_BUILD_PRIV_H
/* What the callers of the worker and of the verifier share. */
#include "table_build.h"
#include "worker_protocol.h"

struct worker_program {
	const char *file; /* as it is installed */
	const char *name; /* in errors */
};

extern const struct worker_program table_worker; /* builds, and inspects */

struct worker_extra {
	const struct worker_program *program;
	enum worker_task task;
	int table_fd; /* what it is to verify, or -1 */
};

/*
 * One such program from start to reply. *request is filled from *req, and *req->missing by what it
 * missed. 0 when it answered, which may be with an error (reply->code); else why it did not, as
 * table_build().
 */
int table_run_worker(const struct table_request *req, const struct worker_extra *extra,
		     struct worker_request *request, struct worker_reply *reply,
		     struct err *err) _must_check_;

#endif
