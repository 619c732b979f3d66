/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_KEEP_H
#define RAWSTACK_PERF_MAP_KEEP_H
/*
 * Keeps perf maps that are written when their process ends. For a process that has code without a
 * name, the directory of its map is held open, because nothing can be found below the root of a
 * process that ended. When the process ends, the map itself is held instead, before anybody removes
 * it. This runs in the helper process, whose workers inherit the descriptors. One thread uses it.
 *
 * An O_PATH descriptor holds a mount. So a directory is held only while its process lives, a map
 * for PERF_MAP_KEEP_NS after that, and of more than LIMIT_PERF_MAPS_KEPT processes only those that
 * were asked for last.
 */
#include <poll.h>

#include "limits.h"
#include "perf_map_place.h"

#define PERF_MAP_KEEP_NS UINT64_C(30000000000)

struct perf_map_kept {
	uint64_t image;   /* the capturer's number of the process and its program */
	uint64_t used_ns; /* when it was last asked for, or ended */
	struct perf_map_place place;
	int pid_fd; /* -1: it ended */
	int dir_fd; /* -1: none */
	int map_fd; /* of one that ended; -1: none */
};

struct perf_map_keep {
	struct perf_map_kept all[LIMIT_PERF_MAPS_KEPT];
	size_t count;
};

/*
 * Keeps the place of the map of a thread's process, or finds a kept one anew. The process must be
 * the one that had a sample at seen_ns (CLOCK_MONOTONIC), not one that took its pid since. Asks no
 * file system, and leaves out what cannot be kept.
 */
void perf_map_keep_add(struct perf_map_keep *k, uint64_t image, uint32_t tid, uint64_t seen_ns,
		       uint64_t now_ns);

/* Returns what is kept for an image, valid until the next call, or NULL. */
const struct perf_map_kept *perf_map_keep_find(const struct perf_map_keep *k, uint64_t image);

/* Returns whether its process has ended. */
static inline bool perf_map_kept_ended(const struct perf_map_kept *m)
{
	return m->pid_fd < 0;
}

/* Opens the map for reading; the worker calls it. Returns a descriptor, or -errno: -EBUSY when
 * there is no map yet and the process lives. */
int perf_map_kept_open(const struct perf_map_kept *m);

/* Fills ret with what to wait for, LIMIT_PERF_MAPS_KEPT at most, and returns how many; *ret_ms is
 * the longest time to wait, -1: for ever. */
size_t perf_map_keep_wait(const struct perf_map_keep *k, struct pollfd *ret, int *ret_ms,
			  uint64_t now_ns);

/* Handles the processes that ended, according to fds, and drops what was kept for long enough. */
void perf_map_keep_poll(struct perf_map_keep *k, const struct pollfd *fds, size_t count,
			uint64_t now_ns);

#endif
