/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HELPER_H
#define RAWSTACK_FILE_HELPER_H
/*
 * The process beside the capturer that reads other processes' files. It holds CAP_SYS_PTRACE and no
 * other capability, forks a worker for each file, and gives that one up after a time limit: a file
 * may be on a file system that never answers. A worker opens the file, drops the last capability,
 * and only then reads. What was read of build ids and segments is remembered by device, inode, size
 * and times of change. What all workers take is bounded (cpu_budget.h): maps of 100 MB that a
 * process writes anew all the time would keep a CPU busy. Beyond that nothing is read. Maps that
 * are written when their process ends it finds by perf_map_keep.h.
 *
 * One request and one reply are one packet each, in any order; internal to the sampler, which
 * forks the helper from itself.
 */
#include <sys/types.h>

#include "file_id.h"
#include "file_segments.h"
#include "limits.h"
#include "perf_map.h"

enum file_request_kind {
	FILE_REQUEST_ID,       /* the build id of a file, and its executable segments */
	FILE_REQUEST_PERF_MAP, /* what its perf map says of some addresses */
	/* The same for a program that ended, or that was sampled before it had a map. It must have
	 * had a FILE_REQUEST_PERF_MAP while it lived. -EBUSY: there may be a map later. */
	FILE_REQUEST_LATE_MAP,
	/* The same as ID, of a mapped file or of the program that the process runs, when the caller
	 * knows the id and compares it with the reply. */
	FILE_REQUEST_SEGMENTS,
	FILE_REQUEST_PROGRAM_SEGMENTS,
};

struct file_request {
	uint32_t slot; /* comes back in the reply */
	uint32_t pid;  /* or one of its threads */
	uint32_t kind; /* enum file_request_kind */
	/* For maps: at most LIMIT_PERF_MAP_ROWS, for a late map LIMIT_PERF_MAP_LATE_ROWS. */
	uint32_t pc_count;
	uint64_t image;   /* for maps: a number for a process and its program */
	uint64_t seen_ns; /* for maps: when (CLOCK_MONOTONIC) the process had a sample */
	struct file_key key;
	union {
		char path[LIMIT_PATH_LEN + 1]; /* NUL-terminated; only what is used is sent */
		uint64_t pcs[LIMIT_PERF_MAP_LATE_ROWS];
	};
};

struct file_reply {
	uint32_t slot;
	int32_t rc; /* 0, or negative errno */
	struct build_id id;
	struct file_segments segments; /* without any where there are none that can be */
	uint32_t row_count;            /* as pc_count, or 0 */
	struct perf_map_row rows[LIMIT_PERF_MAP_LATE_ROWS]; /* only those are sent */
};

/* Starts the helper: returns its pid, and *ret_fd, a socket that never blocks; or -errno. It ends
 * when the socket is closed or the calling process dies. */
pid_t file_helper_start(int *ret_fd);

#endif
