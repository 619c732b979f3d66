/* SPDX-License-Identifier: Apache-2.0 */
#include "table_verify.h"

#include "table_build_priv.h"

int table_verify(const struct table_request *req, int table_fd, struct verify_report *report,
		 struct err *err)
{
	static const struct worker_program verifier = {.file = "rawstack-table-verifier",
						       .name = "table verifier"};
	struct worker_request request;
	struct worker_reply reply = {0};

	*report = (struct verify_report){0};
	TRY(table_run_worker(req, &(struct worker_extra){&verifier, WORKER_VERIFY, table_fd},
			     &request, &reply, err));
	*report = reply.verified;
	return reply.code ? err_set(err, reply.code, "%s", reply.message) : 0;
}
