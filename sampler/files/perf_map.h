/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_H
#define RAWSTACK_PERF_MAP_H
/*
 * The file in which a JIT writes down what it made: /tmp/perf-<pid>.map, lines of start and length
 * in hex and a name (linux/tools/perf/Documentation/jit-interface.txt). Only the helper process
 * reads it: the file is another user's, and may be large or never end.
 */
#include <stddef.h>

#include "limits.h"

struct perf_map_row {
	uint64_t start, len; /* len 0: not found */
	char name[224];      /* untrusted bytes, NUL-terminated, cut */
};

/*
 * Finds for each pc the last line that holds it: its name, and the part of its range around pc that
 * no later line holds. The pcs ascend. Returns 0 or -errno.
 */
int perf_map_find(int fd, const uint64_t *pcs, size_t count, struct perf_map_row *ret);

#endif
