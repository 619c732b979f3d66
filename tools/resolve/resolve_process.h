/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_PROCESS_H
#define RAWSTACK_RESOLVE_PROCESS_H
/* Resolves addresses of a running process, and of the running kernel. */
#include "module_set.h"
#include "process_map.h"
#include "resolve.h"

/* Returns the file that holds a pc of the process, opened as the process sees it, and the link-time
 * address in it, or the kernel for a pc in its half of the address space. Returns NULL if nothing
 * is mapped there, or it cannot be read. */
struct module *process_module(struct module_set *s, const struct process_map *process, uint64_t pc,
			      uint64_t *ret_vaddr);

/* Prints all addresses of q, which are pcs, in their order. If `process` is NULL, only pcs of
 * the kernel have names. */
int resolve_process(struct module_set *s, const struct process_map *process,
		    const struct resolve_query *q, struct resolve_printer *printer, size_t *unknown,
		    struct err *err) _must_check_;

#endif
