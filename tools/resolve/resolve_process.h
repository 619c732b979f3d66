/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_PROCESS_H
#define RAWSTACK_RESOLVE_PROCESS_H
/* Addresses of a running process, and of the running kernel. */
#include "module_set.h"
#include "process_map.h"
#include "resolve.h"

/* The file that a pc of the process lies in, opened as the process sees it, and its link-time
 * address there; the kernel for its half. NULL: nothing is mapped there, or it cannot be read. */
struct module *process_module(struct module_set *s, const struct process_map *process, uint64_t pc,
			      uint64_t *ret_vaddr);

/* Prints all addresses of q, which are pcs, in their order. `process` NULL: the kernel's only. */
int resolve_process(struct module_set *s, const struct process_map *process,
		    const struct resolve_query *q, struct resolve_printer *printer, size_t *unknown,
		    struct err *err) _must_check_;

#endif
