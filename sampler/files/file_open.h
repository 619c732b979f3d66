/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_OPEN_H
#define RAWSTACK_FILE_OPEN_H
/*
 * Opens files of other processes so that nothing waits and no device notices: a file is found with
 * O_PATH below a root that no link leaves, checked, and only then opened. Only the helper process
 * uses this.
 */
#include "base.h"

enum file_open_flag {
	FILE_OPEN_NO_LINK = 1, /* the last part of the path must not be a link */
	FILE_OPEN_CACHED = 2,  /* -EAGAIN where the kernel would have to ask a file system */
};

/* Finds a file below root; returns a descriptor of O_PATH, or -errno. */
int file_find_in_root(const char *root, const char *path, int flags);

/* Does the same below an open directory. */
int file_find_below(int dir_fd, const char *path, int flags);

/* Takes fd, an O_PATH descriptor. Returns one of the same file for reading, or -errno: -EINVAL when
 * it is no regular file. */
int file_reopen(int fd);

#endif
