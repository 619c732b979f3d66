/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCESS_MAP_H
#define RAWSTACK_PROCESS_MAP_H
/* Where the files of a process are mapped: /proc/PID/maps, executable mappings only (proc(5)). */
#include "base.h"
#include "err.h"

struct process_mapping {
	uint64_t start, end, file_off;
	char *path; /* as the process sees it */
};

struct process_map {
	int64_t pid;
	struct process_mapping *list; /* rising */
	size_t count, cap;
};

/* Returns ERR_NOT_FOUND: no such process; ERR_DENIED. */
int process_map_read(struct process_map *m, int64_t pid, struct err *err) _must_check_;

/* Parses the text of a maps file. ERR_MEMORY; lines that are not understood are left out. */
int process_map_parse(struct process_map *m, const char *text, size_t len, struct err *err);
void process_map_done(struct process_map *m);

/* The mapping that holds a pc, or NULL. */
const struct process_mapping *process_map_find(const struct process_map *m, uint64_t pc);

/* The half of the address space that is the kernel's on 64-bit machines. */
static inline bool process_pc_is_kernel(uint64_t pc)
{
	return pc >> 63;
}

#endif
