/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_PROGRAM_H
#define RAWSTACK_SANDBOX_PROGRAM_H
/*
 * The common part of the programs that read untrusted files: rawstack-table-worker and
 * rawstack-table-verifier. Each finds its descriptors by number (worker_protocol.h), sets its
 * limits before it reads the first byte of input, answers one request of its own kind over the
 * reply pipe, prints nothing and ends.
 */
#include "buf.h"
#include "sandbox.h"
#include "table_source.h"
#include "worker_protocol.h"

/* One request. It lives as long as the process, and so do the mappings of its files. */
struct sandbox_job {
	const struct worker_request *req;
	const struct sandbox_program *program;
	struct table_source source; /* after sandbox_job_map() */
	struct buf out;             /* goes to WORKER_FD_OUTPUT */
	struct buf missing;         /* goes to WORKER_FD_MISSING, if it is wanted */
	struct table_companion_bytes companions[LIMIT_COMPANIONS];
	int status_fd; /* /proc/self/status, or -1 */
};

struct sandbox_program {
	const char *name;           /* name of the program's file and of its process */
	struct sandbox_calls calls; /* further calls that this program needs */
	/*
	 * Answers job->req within its limits. It must call sandbox_job_enter() after it has mapped
	 * its files and before it reads any of them. The error is part of the reply.
	 */
	int (*answer)(struct sandbox_job *job, struct worker_reply *reply, struct err *err);
};

/* The main() of such a program, called by one thread. Returns the exit status. */
int sandbox_program_main(const struct sandbox_program *program);

/* Maps one file of the caller until the process ends. Returns ERR_UNSUPPORTED if it is empty,
 * ERR_LIMIT if it is longer than LIMIT_ELF_FILE_LEN, or errors as err_sys(). */
int sandbox_job_map_file(int fd, const void **ret_p, size_t *ret_len, struct err *err) _must_check_;

/* Maps the input, its executable and its companions as job->source. Returns errors as above; an
 * empty companion is ignored. */
int sandbox_job_map(struct sandbox_job *job, struct err *err) _must_check_;

/* Enters the sandbox with the system calls of the program. Returns errors as sandbox_enter(). */
int sandbox_job_enter(struct sandbox_job *job, struct err *err) _must_check_;

/* Writes job->out and job->missing to the caller's files. */
int sandbox_job_deliver(struct sandbox_job *job, struct err *err) _must_check_;

/* Returns the CPU time of all threads and the peak resident memory of the process so far. */
void sandbox_job_usage(const struct sandbox_job *job, uint64_t *ret_cpu_ns,
		       uint64_t *ret_peak_memory);

#endif
