/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCS_PRIV_H
#define RAWSTACK_PROCS_PRIV_H
/* What the two halves of procs.h share. */
#include "procs.h"

/* The process that a tick at now_ns fell in, and that began at start_ns; has_memory: none of the
 * kernel's threads. NULL as of procs_of_sample(). */
struct proc *procs_of_start(struct procs *ps, uint32_t pid, uint64_t start_ns, uint64_t now_ns,
			    bool has_memory);

/* What the kernel told of files at a tick. */
void procs_on_hint(struct procs *ps, const struct event *e);

#endif
