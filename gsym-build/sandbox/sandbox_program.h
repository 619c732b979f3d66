/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_PROGRAM_H
#define RAWSTACK_SANDBOX_PROGRAM_H
/*
 * The frame of the programs that read untrusted files: rawstack-table-worker and
 * rawstack-table-verifier. Each finds its descriptors by number (worker_protocol.h), takes its
 * limits before it reads the first byte of input, answers one request over the reply pipe, prints
 * nothing and ends. Each program handles its own kind of request.
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
	struct buf missing;         /* goes to WORKER_FD_MISSING, if that is wanted */
	struct table_companion_bytes companions[LIMIT_COMPANIONS];
	int status_fd; /* /proc/self/status, or -1 */
};

struct sandbox_program {
	const char *name;           /* of its file, and of its process */
	struct sandbox_calls calls; /* calls that it needs besides those of every program */
	/*
	 * Answers job->req within its limits. It enters the sandbox by sandbox_job_enter(), when it
	 * has mapped what it needs and before it looks into any of it. The error is sent, too.
	 */
	int (*answer)(struct sandbox_job *job, struct worker_reply *reply, struct err *err);
};

/* main() of such a program: returns its exit status. One thread. */
int sandbox_program_main(const struct sandbox_program *program);

/* Maps one file of the caller, of at most LIMIT_ELF_FILE_LEN, until the process ends.
 * ERR_UNSUPPORTED: it is empty. ERR_LIMIT. ERR_INTERNAL. */
int sandbox_job_map_file(int fd, const void **ret_p, size_t *ret_len, struct err *err) _must_check_;

/* Maps the input, its executable and its companions as job->source. Errors as above; an empty
 * companion is ignored. */
int sandbox_job_map(struct sandbox_job *job, struct err *err) _must_check_;

/* Enters the sandbox: only the system calls of the program are allowed from then on.
 * ERR_INTERNAL. */
int sandbox_job_enter(struct sandbox_job *job, struct err *err) _must_check_;

/* Writes out and missing to the caller's files. */
int sandbox_job_deliver(struct sandbox_job *job, struct err *err) _must_check_;

/* Gives the CPU time of all threads and the peak resident memory of the process so far. */
void sandbox_job_usage(const struct sandbox_job *job, uint64_t *ret_cpu_ns,
		       uint64_t *ret_peak_memory);

#endif
