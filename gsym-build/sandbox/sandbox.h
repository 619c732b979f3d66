/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_H
#define RAWSTACK_SANDBOX_H
/*
 * Limits, and a list of the system calls that a program needs which reads untrusted files; any
 * other kills it (SIGSYS). Entered after its files are open and before the first byte of input is
 * read.
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
	uint64_t memory;      /* bytes of addresses */
	uint64_t cpu_seconds; /* then SIGXCPU, two seconds later SIGKILL */
	uint64_t file_len;    /* of what is written; then SIGXFSZ */
	enum worker_class class;
};

/*
 * Before the filter. Also: no core file, no new privileges by execve(2), and it dies with the
 * thread that started it. Sanitizers reserve terabytes of addresses: without the limit on memory
 * then.
 */
int sandbox_limit(const struct sandbox_limits *l, struct err *err) _must_check_;

/*
 * From here on this process can compute, allocate, read and write the descriptors it has, and end.
 * Nothing can be opened, started or connected; what one program needs besides is in *more. Without
 * effect under sanitizers, which need more. Holds for all threads there are. ERR_INTERNAL when the
 * kernel refuses the filter.
 */
int sandbox_enter(const struct sandbox_calls *more, struct err *err) _must_check_;

#endif
