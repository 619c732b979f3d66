/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCESS_MAP_H
#define RAWSTACK_PROCESS_MAP_H
/* Reads which files a process has mapped where: the executable mappings of /proc/PID/maps
 * (proc(5)). */
#include "base.h"
#include "err.h"

struct process_mapping {
	uint64_t start, end, file_off;
	char *path; /* as the process sees it */
};

struct process_map {
	int64_t pid;
	struct process_mapping *list; /* in rising order */
	size_t count, cap;
};

/* Reads the mappings. Returns ERR_NOT_FOUND if there is no such process, or ERR_DENIED. */
int process_map_read(struct process_map *m, int64_t pid, struct err *err) _must_check_;

/* Parses the text of a maps file and skips lines that it does not understand. Returns ERR_MEMORY.
 */
int process_map_parse(struct process_map *m, const char *text, size_t len, struct err *err);
void process_map_done(struct process_map *m);

/* Returns the mapping that holds a pc, or NULL. */
const struct process_mapping *process_map_find(const struct process_map *m, uint64_t pc);

/* Returns whether a pc is in the half of the address space that belongs to the kernel on 64-bit
 * machines. */
static inline bool process_pc_is_kernel(uint64_t pc)
{
	return pc >> 63;
}

#endif
