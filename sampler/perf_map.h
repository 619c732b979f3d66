/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_H
#define RAWSTACK_PERF_MAP_H
/*
 * The file in which a JIT writes down what it made: /tmp/perf-<pid>.map, lines of start and length
 * in hex and a name (linux/tools/perf/Documentation/jit-interface.txt). For the helper process:
 * the file is another user's, and may be large or never end.
 */
#include <stdbool.h>
#include <stddef.h>

#include "limits.h"

struct perf_map_row {
	uint64_t start, len; /* len 0: not found */
	char name[224];      /* untrusted bytes, NUL-terminated, cut */
};

/*
 * The map of the process that a thread is of, as it sees its own pid and file system: a regular
 * file of the process's user that nobody else may write to and that is not older than it, or
 * -errno. -EPERM: it is somebody else's. The thread must live: of one that ended nothing can be
 * found below its root. Needs CAP_SYS_PTRACE for processes of others.
 */
int perf_map_open(uint32_t tid);

/*
 * Whether the kernel knows, without asking a file system, that a thread's process has none: what
 * costs microseconds and cannot hang, for most processes never write one.
 */
bool perf_map_is_absent(uint32_t tid);

/* For each pc the last line that holds it. 0, or -errno: it is no such file. */
int perf_map_find(int fd, const uint64_t *pcs, size_t count, struct perf_map_row *ret);

#endif
