/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawstack-table-verifier compares one table with its file, and ends. Only table_verify() starts
 * it; sandbox_program.h runs the process.
 */
#include "plain_reader.h"
#include "sandbox_program.h"
#include "table_compare.h"

static int map_verified_table(const void **ret_p, size_t *ret_len, struct err *err)
{
	int rc = sandbox_job_map_file(WORKER_FD_TABLE, ret_p, ret_len, err);

	if (rc == ERR_UNSUPPORTED)
		return err_set(err, ERR_DATA, "the table: not a Rawstack table: it is empty");
	return rc ? err_prefix(err, "the table") : 0;
}

static int compare_with_file(struct sandbox_job *job, struct verify_report *report, struct err *err)
{
	const void *p;
	struct rsym t;
	size_t len;

	TRY(sandbox_job_map(job, err));
	TRY(map_verified_table(&p, &len, err));
	TRY(sandbox_job_enter(job, err));
	if (rsym_open(&t, p, len, err))
		return err_prefix(err, "the table");
	if (!build_id_equal(&t.id, &job->req->id))
		return err_set(err, ERR_MISMATCH, "the table is of a file with another build id");
	TRY(table_compare(&job->source, &t, report, &job->out, err));
	return sandbox_job_deliver(job, err);
}

static int answer_verify(struct sandbox_job *job, struct worker_reply *reply, struct err *err)
{
	struct verify_report *report = &reply->verified;
	int rc;

	if (job->req->task != WORKER_VERIFY)
		return err_set(err, ERR_INTERNAL, "no such task of the table verifier: %u",
			       job->req->task);
	plain_read_untracked();
	rc = compare_with_file(job, report, err);
	sandbox_job_usage(job, &report->cpu_ns, &report->peak_memory);
	return rc;
}

int main(void)
{
	static const struct sandbox_program program = {
		.name = "rawstack-table-verifier",
		.answer = answer_verify,
	};

	return sandbox_program_main(&program);
}
