/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_H
#define RAWSTACK_SANDBOX_H
/*
 * Confines a program that reads untrusted files: it sets limits and allows only a list of system
 * calls; any other call kills the process (SIGSYS). The program enters the sandbox after its files
 * are open and before it reads the first byte of input.
 */
#include "base.h"
#include "err.h"
#include "worker_class.h"

/* System calls by their numbers (SYS_...). mmap() and mprotect() never get executable memory, and
 * tgkill() only signals the process itself. */
struct sandbox_calls {
	const int *list;
	size_t count;
};

struct sandbox_limits {
	uint64_t memory;      /* bytes of address space */
	uint64_t cpu_seconds; /* at the limit SIGXCPU, two seconds later SIGKILL */
	uint64_t file_len;    /* of a written file; at the limit SIGXFSZ */
	enum worker_class class;
};

/*
 * Sets the limits; call it before sandbox_enter(). It also disables core files and new privileges
 * by execve(2), and makes the process die with the thread that started it. Under sanitizers, which
 * reserve terabytes of addresses, memory is not limited.
 */
int sandbox_limit(const struct sandbox_limits *l, struct err *err) _must_check_;

/*
 * From this call on, all threads of this process can compute, allocate, read and write the
 * descriptors that the process has, and end, but not open, start or connect anything. *more has
 * further calls that the program needs. The call has no effect under sanitizers, which need more.
 * Returns an error of err_sys() if the kernel refuses the filter.
 */
int sandbox_enter(const struct sandbox_calls *more, struct err *err) _must_check_;

#endif
