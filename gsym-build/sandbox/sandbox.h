/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANDBOX_H
#define RAWSTACK_SANDBOX_H
/*
 * Confines a program that reads untrusted files: sets limits, and allows only a list of system
 * calls; any other kills it (SIGSYS). The program enters it after its files are open and before it
 * reads the first byte of input.
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
 * Sets the limits; call it before sandbox_enter(). It also disables core files and new privileges
 * by execve(2), and makes the process die with the thread that started it. Under sanitizers, which
 * reserve terabytes of addresses, memory is not limited.
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
