/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_OPEN_H
#define RAWSTACK_FILE_OPEN_H
/*
 * Files of other processes, opened so that nothing waits and no device notices: found with O_PATH
 * below a root that no link leads out of, looked at, and only then opened. For the helper process
 * only; internal to it.
 */
#include "base.h"

enum file_open_flag {
	FILE_OPEN_NO_LINK = 1, /* the last part of the path must not be a link */
	FILE_OPEN_CACHED = 2,  /* -EAGAIN where the kernel would have to ask a file system */
};

/* Finds a file below root; returns a descriptor of O_PATH, or -errno. */
int file_find_in_root(const char *root, const char *path, int flags);

/* The same below a directory that is open. */
int file_find_below(int dir_fd, const char *path, int flags);

/* Takes fd, of O_PATH and of a regular file: the same file for reading, or -errno. */
int file_reopen(int fd);

#endif
