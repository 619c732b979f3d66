/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_PLACE_H
#define RAWSTACK_PERF_MAP_PLACE_H
/*
 * Finds where the perf map of a process is, and checks that a file there is its own. Only the
 * helper process uses this: the process is another user's, and may be gone at any moment.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "base.h"

/* The place of the map of a thread's process. Times are in seconds since 1970. */
struct perf_map_place {
	uint32_t pid, uid;
	double start;  /* when the process began */
	double end;    /* when it ended; 0: it did not */
	char name[32]; /* of the file, with the pid as the process sees it */
};

/* Finds the place of the map of a thread's process. Returns 0 or -errno. The thread must live, or
 * be one whose process does. */
int perf_map_place_find(struct perf_map_place *ret, uint32_t tid);

/*
 * Finds the directory of the map of a thread's process, below the thread's root. Returns an O_PATH
 * descriptor, or -errno: with is_cached, -EAGAIN where the kernel would have to ask a file system.
 * The thread must live, because nothing can be found below the root of one that ended. Needs
 * CAP_SYS_PTRACE for other users' processes.
 */
int perf_map_place_dir(uint32_t tid, bool is_cached);

/* Finds the map in that directory. Returns an O_PATH descriptor, or -errno. */
int perf_map_place_file(const struct perf_map_place *p, int dir_fd, bool is_cached);

/*
 * Takes file_fd, an O_PATH descriptor. Returns one of the map for reading, or -errno: -EPERM when
 * the map is another user's, others may write to it, or it was last written to before the process
 * began or after it ended.
 */
int perf_map_place_open(const struct perf_map_place *p, int file_fd);

#endif
