/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HELPER_H
#define RAWSTACK_FILE_HELPER_H
/*
 * The process beside the capturer that reads other processes' files. It holds CAP_SYS_PTRACE and no
 * other capability, forks a worker for each file, and gives that one up after a time limit: a file
 * may be on a file system that never answers. A worker opens the file, drops the last capability,
 * and only then reads. It remembers build ids and segments by device, inode, size and times of
 * change. The CPU time of all workers is bounded (cpu_budget.h), because maps of 100 MB that a
 * process writes anew all the time would keep a CPU busy; beyond the bound nothing is read.
 * perf_map_keep.h finds maps that are written when their process ends.
 *
 * A request and a reply are one packet each, in any order. Internal to the sampler, which forks the
 * helper from itself.
 */
#include <sys/types.h>

#include "file_id.h"
#include "file_segments.h"
#include "limits.h"
#include "perf_map.h"

enum file_request_kind {
	FILE_REQUEST_ID,       /* the build id of a file, and its executable segments */
	FILE_REQUEST_PERF_MAP, /* what its perf map says of some addresses */
	/* The same for a program that ended, or that was sampled before it had a map. A
	 * FILE_REQUEST_PERF_MAP must have been made for it while it lived. -EBUSY: there may be a
	 * map later. */
	FILE_REQUEST_LATE_MAP,
	/* The same as ID, for a mapped file or the program that the process runs, when the caller
	 * knows the id and compares it with the reply. */
	FILE_REQUEST_SEGMENTS,
	FILE_REQUEST_PROGRAM_SEGMENTS,
};

struct file_request {
	uint32_t slot; /* comes back in the reply */
	uint32_t pid;  /* or one of its threads */
	uint32_t kind; /* enum file_request_kind */
	/* For maps: at most LIMIT_PERF_MAP_ROWS, or LIMIT_PERF_MAP_LATE_ROWS for a late map. */
	uint32_t pc_count;
	uint64_t image;   /* for maps: identifies a process and its program */
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
	struct file_segments segments; /* empty: there are none, or not readable */
	uint32_t row_count;            /* as pc_count, or 0 */
	struct perf_map_row rows[LIMIT_PERF_MAP_LATE_ROWS]; /* only row_count are sent */
};

/* Starts the helper. Returns its pid and the socket to it in *ret_fd, or -errno. The helper ends
 * when the socket is closed or the calling process dies. */
pid_t file_helper_start(int *ret_fd);

#endif
