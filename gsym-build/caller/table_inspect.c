/* SPDX-License-Identifier: Apache-2.0 */
#include "table_inspect.h"

#include "limits.h"
#include "table_build_priv.h"

/* The CPU seconds that a worker may use to read the headers of a file or to validate a client's
 * table. A table of 1 GiB takes 4 s. */
#define LIMIT_INSPECT_CPU_SECONDS LIMIT(60)

/* Returns whether an id in the reply is valid, because the untrusted worker wrote it. */
static bool is_id(const struct build_id *id)
{
	return id->kind == BUILD_ID_NONE ||
	       (id->kind == BUILD_ID_GNU && id->len >= BUILD_ID_MIN && id->len <= BUILD_ID_MAX);
}

static int ask_table_worker(int fd, const char *worker_path, enum worker_task task,
			    struct worker_reply *reply, struct err *err)
{
	const struct table_request req = {
		.input_fd = fd,
		.executable_fd = -1,
		.output_fd = -1,
		.cpu_seconds_max = LIMIT_INSPECT_CPU_SECONDS,
		.worker_path = worker_path,
	};
	struct worker_request request;

	TRY(table_run_worker(&req, &(struct worker_extra){&table_worker, task, -1}, &request, reply,
			     err));
	/* The worker reached its memory limit; this process has memory. */
	if (reply->code == ERR_MEMORY)
		return err_set(err, ERR_LIMIT,
			       "the table worker needs more memory than it may have: %s",
			       reply->message);
	return reply->code ? err_set(err, reply->code, "%s", reply->message) : 0;
}

int table_inspect(int fd, const char *worker_path, struct image_summary *ret, struct err *err)
{
	struct worker_reply reply;

	TRY(ask_table_worker(fd, worker_path, WORKER_INSPECT, &reply, err));
	*ret = reply.summary;
	if (!is_id(&ret->id.id) || !is_id(&ret->alt_id) || ret->kind > IMAGE_OTHER)
		return err_set(err, ERR_INTERNAL, "the table worker's answer makes no sense");
	return 0;
}

int table_check(int fd, const char *worker_path, struct err *err)
{
	struct worker_reply reply;

	return ask_table_worker(fd, worker_path, WORKER_CHECK, &reply, err);
}
