/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAP_KEEP_H
#define RAWSTACK_PERF_MAP_KEEP_H
/*
 * Perf maps that are written when their process ends: of processes that have code without a name,
 * the directory in which the map would be stays open, for below the root of one that ended nothing
 * can be found; at its end the map itself takes its place, before anybody removes it. In the helper
 * process; its workers inherit the descriptors. One thread.
 *
 * A descriptor of O_PATH holds a mount; so a directory is held while its process lives, a map for
 * PERF_MAP_KEEP_NS behind that, and of more than LIMIT_PERF_MAPS_KEPT processes those that were
 * asked for last.
 */
#include <poll.h>

#include "limits.h"
#include "perf_map_place.h"

#define PERF_MAP_KEEP_NS UINT64_C(30000000000)

struct perf_map_kept {
	uint64_t image;   /* the capturer's number of the process and its program */
	uint64_t used_ns; /* asked for the last time, or ended */
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
 * Keeps the place of the process that a thread is of, or looks again where it is. It must be the
 * one that had a sample at seen_ns (CLOCK_MONOTONIC), not one that has its pid since. Asks no file
 * system; what cannot be kept is not.
 */
void perf_map_keep_add(struct perf_map_keep *k, uint64_t image, uint32_t tid, uint64_t seen_ns,
		       uint64_t now_ns);

/* NULL: it is not kept. Valid until the next call. */
const struct perf_map_kept *perf_map_keep_find(const struct perf_map_keep *k, uint64_t image);

/* Whether its process has ended. */
static inline bool perf_map_kept_ended(const struct perf_map_kept *m)
{
	return m->pid_fd < 0;
}

/* For the worker: the map for reading, or -errno. -EBUSY: there is none yet, and the process lives.
 */
int perf_map_kept_open(const struct perf_map_kept *m);

/* What to wait for: fills ret, LIMIT_PERF_MAPS_KEPT at most, and returns how many; *ret_ms is how
 * long at most, -1: for ever. */
size_t perf_map_keep_wait(const struct perf_map_keep *k, struct pollfd *ret, int *ret_ms,
			  uint64_t now_ns);

/* Looks which processes ended, by what was waited for, and lets go of what was kept for long
 * enough. */
void perf_map_keep_poll(struct perf_map_keep *k, const struct pollfd *fds, size_t count,
			uint64_t now_ns);

#endif
