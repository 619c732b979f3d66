/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "number.h"

int sandbox_job_map_file(int fd, const void **ret_p, size_t *ret_len, struct err *err)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return err_sys(err, errno, "stat of the input");
	if ((uint64_t)st.st_size > LIMIT_ELF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "file of %lld bytes; the limit is %llu",
			       (long long)st.st_size, (unsigned long long)LIMIT_ELF_FILE_LEN);
	if (st.st_size == 0)
		return err_set(err, ERR_UNSUPPORTED, "not an ELF file: it is empty");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "mapping the input");
	*ret_p = p;
	*ret_len = (size_t)st.st_size;
	return 0;
}

static int map_companions(struct sandbox_job *job, struct err *err)
{
	const struct worker_request *req = job->req;

	for (uint32_t i = 0; i < req->companion_count; i++) {
		struct table_companion_bytes *c = &job->companions[i];
		int rc = sandbox_job_map_file(WORKER_FD_COMPANIONS + (int)i, &c->p, &c->len, err);

		if (rc && rc != ERR_UNSUPPORTED)
			return rc;
		c->kind = (enum table_companion_kind)req->companion_kinds[i];
	}
	job->source.companions = job->companions;
	job->source.companion_count = req->companion_count;
	return 0;
}

int sandbox_job_map(struct sandbox_job *job, struct err *err)
{
	struct table_source *s = &job->source;

	TRY(sandbox_job_map_file(WORKER_FD_INPUT, &s->p, &s->len, err));
	if (job->req->has_executable)
		TRY(sandbox_job_map_file(WORKER_FD_EXECUTABLE, &s->executable, &s->executable_len,
					 err));
	s->mapped = true;
	s->missing = job->req->wants_missing ? &job->missing : NULL;
	return map_companions(job, err);
}

int sandbox_job_enter(struct sandbox_job *job, struct err *err)
{
	return sandbox_enter(&job->program->calls, err);
}

int sandbox_job_deliver(struct sandbox_job *job, struct err *err)
{
	const struct io *io = io_system();
	int rc = io_write_all(io, WORKER_FD_OUTPUT, job->out.p, job->out.len, 0, err);

	if (rc || !job->req->wants_missing)
		return rc;
	return io_write_all(io, WORKER_FD_MISSING, job->missing.p, job->missing.len, 0, err);
}

/* Reads the peak from /proc, because ru_maxrss is inherited over exec and would be the parent's. */
static uint64_t read_peak_memory(int status_fd)
{
	char text[4096];
	ssize_t n = pread(status_fd, text, sizeof(text) - 1, 0);
	const char *at;
	uint64_t kib;

	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "VmHWM:");
	if (!at)
		return 0;
	at += strcspn(at, "0123456789\n");
	return number_take(&at, 10, &kib) ? kib * 1024 : 0;
}

void sandbox_job_usage(const struct sandbox_job *job, uint64_t *ret_cpu_ns,
		       uint64_t *ret_peak_memory)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	*ret_cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	*ret_peak_memory = read_peak_memory(job->status_fd);
}

static int answer_request(const struct sandbox_program *program, const struct worker_request *req,
			  struct worker_reply *reply, struct err *err)
{
	static struct sandbox_job job; /* static: large, and needed until the end */
	int rc;

	TRY(sandbox_limit(&(struct sandbox_limits){.memory = req->memory_max,
						   .cpu_seconds = req->cpu_seconds_max,
						   .file_len = req->table_len_max,
						   .class = (enum worker_class)req->class},
			  err));
	job.req = req;
	job.program = program;
	job.status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	buf_init(&job.out, req->table_len_max);
	buf_init(&job.missing, LIMIT_MISSING_LEN);
	rc = program->answer(&job, reply, err);
	buf_done(&job.out);
	buf_done(&job.missing);
	return rc;
}

int sandbox_program_main(const struct sandbox_program *program)
{
	struct worker_request req;
	struct worker_reply reply = {.magic = WORKER_MAGIC};
	struct err err = {0};

	if (read(WORKER_FD_REQUEST, &req, sizeof(req)) != (ssize_t)sizeof(req) ||
	    req.magic != WORKER_MAGIC) {
		dprintf(STDERR_FILENO, "%s: started by rawstack programs only\n", program->name);
		return WORKER_EXIT_STRANGER;
	}
	prctl(PR_SET_NAME, program->name); /* the name may be a descriptor's number until then */
	reply.code = answer_request(program, &req, &reply, &err);
	memcpy(reply.message, err.message, sizeof(reply.message));
	return write(WORKER_FD_REPLY, &reply, sizeof(reply)) != (ssize_t)sizeof(reply);
}
