/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Opens the file through the mapping itself, which is right even if the file was replaced or lies
 * in a container. That needs rights that few have; without them it opens the path. */
static struct module *open_mapping(struct module_set *s, const struct process_map *process,
				   const struct process_mapping *m)
{
	char path[LIMIT_PATH_LEN + 64];

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/map_files/%" PRIx64 "-%" PRIx64,
		 process->pid, m->start, m->end);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "/proc/%" PRId64 "/root%s", process->pid, m->path);
	return module_set_get(s, m->path, strlen(m->path), path, NULL);
}

struct module *process_module(struct module_set *s, const struct process_map *process, uint64_t pc,
			      uint64_t *ret_vaddr)
{
	const struct process_mapping *m;
	struct module *module;

	*ret_vaddr = pc;
	if (process_pc_is_kernel(pc))
		return module_set_kernel(s, NULL);
	m = process ? process_map_find(process, pc) : NULL;
	module = m ? open_mapping(s, process, m) : NULL;
	if (module && !module_vaddr(module, pc - m->start + m->file_off, ret_vaddr))
		return NULL;
	return module;
}

static void print_unmapped(uint64_t pc, struct resolve_printer *printer, size_t *unknown)
{
	resolve_begin(printer, pc, "not_in_module");
	resolve_end(printer);
	++*unknown;
}

int resolve_process(struct module_set *s, const struct process_map *process,
		    const struct resolve_query *q, struct resolve_printer *printer, size_t *unknown,
		    struct err *err)
{
	struct module *m;
	uint64_t vaddr, pc;
	bool back;
	int rc;

	for (size_t i = 0; i < q->count; i++) {
		back = q->return_address && q->addresses[i];
		pc = q->addresses[i] - back;
		/* The reason why the kernel's symbols cannot be read is worth a line, and only the
		 * first call knows it. */
		if (process_pc_is_kernel(pc) && !module_set_kernel(s, err))
			return err->code;
		m = process_module(s, process, pc, &vaddr);
		if (m && (!module_want(m, vaddr) || (back && !module_want(m, vaddr + 1))))
			return err_no_memory(err);
	}
	rc = module_set_prepare(s, err);
	for (size_t i = 0; !rc && i < q->count; i++) {
		back = q->return_address && q->addresses[i];
		pc = q->addresses[i] - back;
		m = process_module(s, process, pc, &vaddr);
		if (m && m->frame_printer && back)
			vaddr = rsym_call_vaddr(&m->table.rsym, vaddr + 1);
		if (m && m->frame_printer)
			rc = frame_printer_print(m->frame_printer, &q->addresses[i], &vaddr, 1,
						 printer, unknown, err);
		else
			print_unmapped(q->addresses[i], printer, unknown);
	}
	return rc;
}
