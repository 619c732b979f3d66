/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_HELPER_H
#define RAWSTACK_FILE_HELPER_H
/*
 * The process beside the capturer that reads other processes' files. It holds CAP_SYS_PTRACE and no
 * other capability, forks a worker for each file, and gives that one up after a time limit: a file
 * may be on a file system that never answers. A worker opens the file, drops the last capability,
 * and only then reads. What was read is remembered by device, inode, size and times of change.
 *
 * One request and one reply are one packet each, in any order; internal to the sampler, which
 * forks the helper from itself.
 */
#include <sys/types.h>

#include "file_id.h"
#include "limits.h"

struct file_request {
	uint32_t slot; /* comes back in the reply */
	uint32_t pid;
	struct file_key key;
	char path[LIMIT_PATH_LEN + 1]; /* NUL-terminated; only what is used is sent */
};

struct file_reply {
	uint32_t slot;
	int32_t rc; /* 0, or negative errno */
	struct build_id id;
};

/* Starts it: its pid, and *ret_fd, a socket that never waits; -errno. It ends when the socket is
 * closed or the calling process dies. */
pid_t file_helper_start(int *ret_fd);

#endif
