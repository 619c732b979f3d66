/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawstack-table-worker builds one table, or inspects one file or table, and ends. Only
 * table_build() and table_inspect.h start it; sandbox_program.h runs the process.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "image_summary.h"
#include "rsym.h"
#include "sandbox_program.h"
#include "table_make.h"

/* fstat() is for reading headers and notes. The other calls are for the second thread: for its
 * malloc() arena, for waiting for it, and for its end. */
static const int calls[] = {SYS_fstat,    SYS_newfstatat,        SYS_futex,
			    SYS_mprotect, SYS_sched_getaffinity, SYS_exit};

static int map_wanted(struct sandbox_job *job, struct err *err)
{
	const struct worker_request *req = job->req;
	const void *p;
	size_t len;

	if (!req->wanted_count)
		return 0;
	TRY(sandbox_job_map_file(WORKER_FD_WANTED, &p, &len, err));
	if (len / sizeof(*job->source.wanted) < req->wanted_count)
		return err_set(err, ERR_INTERNAL, "fewer addresses than the request says");
	job->source.wanted = p;
	job->source.wanted_count = req->wanted_count;
	return 0;
}

/* Maps the memory for progress. If this fails, the caller only sees no progress. */
static void map_progress(struct sandbox_job *job)
{
	void *p;

	if (!job->req->wants_progress)
		return;
	p = mmap(NULL, sizeof(*job->source.progress), PROT_READ | PROT_WRITE, MAP_SHARED,
		 WORKER_FD_PROGRESS, 0);
	if (p != MAP_FAILED)
		job->source.progress = p;
}

/* Refuses an executable whose build id is missing or not that of the request. */
static int check_executable(const struct worker_request *req, struct err *err)
{
	struct image_id executable;
	int rc;

	if (!req->has_executable || req->id.kind != BUILD_ID_GNU)
		return 0;
	rc = image_notes_id(WORKER_FD_EXECUTABLE, &executable, err);
	if (rc < 0)
		return err_prefix(err, "executable");
	return build_id_equal(&executable.id, &req->id)
		       ? 0
		       : err_set(err, ERR_MISMATCH,
				 "the executable has another build id than its debug file");
}

static int build_in_sandbox(struct sandbox_job *job, struct build_report *report, struct err *err)
{
	const struct worker_request *req = job->req;
	_cleanup_(helper_freep) struct helper *helper = NULL;

	TRY(sandbox_job_map(job, err));
	TRY(map_wanted(job, err));
	if (req->in_two)
		TRY(helper_new(&helper, err));
	map_progress(job);
	job->source.input = (enum table_input)req->input;
	job->source.id = req->id;
	job->source.columns = req->columns;
	job->source.types = req->types;
	job->source.shown = req->shown;
	job->source.helper = helper;
	TRY(sandbox_job_enter(job, err));
	TRY(check_executable(req, err));
	TRY(table_make(&job->source, &job->out, report, err));
	return sandbox_job_deliver(job, err);
}

static int answer_build(struct sandbox_job *job, struct build_report *report, struct err *err)
{
	int rc = build_in_sandbox(job, report, err);

	sandbox_job_usage(job, &report->cpu_ns, &report->peak_memory);
	return rc;
}

static int answer_inspect(struct sandbox_job *job, struct image_summary *summary, struct err *err)
{
	TRY(sandbox_job_enter(job, err));
	return image_summary_read(WORKER_FD_INPUT, summary, err);
}

static int answer_check(struct sandbox_job *job, struct err *err)
{
	struct rsym t;
	const void *p;
	size_t len;

	TRY(sandbox_job_map_file(WORKER_FD_INPUT, &p, &len, err));
	TRY(sandbox_job_enter(job, err));
	return rsym_open(&t, p, len, err);
}

static int answer_task(struct sandbox_job *job, struct worker_reply *reply, struct err *err)
{
	switch (job->req->task) {
	case WORKER_BUILD:
		return answer_build(job, &reply->report, err);
	case WORKER_INSPECT:
		return answer_inspect(job, &reply->summary, err);
	case WORKER_CHECK:
		return answer_check(job, err);
	default:
		return err_set(err, ERR_INTERNAL, "no such task of the table worker: %u",
			       job->req->task);
	}
}

int main(void)
{
	static const struct sandbox_program program = {
		.name = "rawstack-table-worker",
		.calls = {calls, ARRAY_LEN(calls)},
		.answer = answer_task,
	};

	return sandbox_program_main(&program);
}
