/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_PLACE_H
#define RAWSTACK_PERF_MAP_PLACE_H
/*
 * Where the perf map of a process is, and whether a file there is its own. For the helper process:
 * the process is another user's, and may be gone at any moment.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "base.h"

/* A thread's process. Times since 1970, in seconds. */
struct perf_map_place {
	uint32_t pid, uid;
	double start;  /* when the process began */
	double end;    /* when it ended; 0: it did not */
	char name[32]; /* of the file, as the process sees its own pid */
};

/* 0 or -errno. The thread must live, or be one whose process does. */
int perf_map_place_find(struct perf_map_place *ret, uint32_t tid);

/*
 * The directory that the map of a thread's process is in, by the root that the thread has: a
 * descriptor of O_PATH, or -errno. The thread must live: of one that ended nothing can be found
 * below its root. is_cached: -EAGAIN where the kernel would have to ask a file system. Needs
 * CAP_SYS_PTRACE for processes of others.
 */
int perf_map_place_dir(uint32_t tid, bool is_cached);

/* The file in that directory, a descriptor of O_PATH, or -errno. */
int perf_map_place_file(const struct perf_map_place *p, int dir_fd, bool is_cached);

/*
 * Takes file_fd, of O_PATH: the map for reading, or -errno. -EPERM: it is another user's, others
 * may write to it, or it was written to before the process began or after it ended.
 */
int perf_map_place_open(const struct perf_map_place *p, int file_fd);

#endif
