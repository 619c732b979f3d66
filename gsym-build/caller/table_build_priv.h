/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_BUILD_PRIV_H
#define RAWSTACK_TABLE_BUILD_PRIV_H
/* What the callers of the worker share: table_build.c and table_inspect.c. */
#include "table_build.h"
#include "worker_protocol.h"

struct worker_extra {
	enum worker_task task;
	int table_fd;   /* what it is to verify, or -1 */
	int missing_fd; /* where it says what the input asks for, or -1 */
};

/*
 * One worker from start to reply. *request is filled from *req. 0 when it answered, which may be
 * with an error (reply->code); else why it did not, as table_build().
 */
int table_run_worker(const struct table_request *req, const struct worker_extra *extra,
		     struct worker_request *request, struct worker_reply *reply,
		     struct err *err) _must_check_;

#endif
