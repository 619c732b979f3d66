/* SPDX-License-Identifier: Apache-2.0 */
#include "file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12; an older kernel says -EINVAL */
#endif

/* glibc has no wrapper for openat2(2). With O_PATH no file is opened yet that could wait or notice.
 */
int file_find_below(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC |
			 (flags & FILE_OPEN_NO_LINK ? (unsigned int)O_NOFOLLOW : 0),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   (flags & FILE_OPEN_CACHED ? RESOLVE_CACHED : 0),
	};
	long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int file_find_in_root(const char *root, const char *path, int flags)
{
	_cleanup_(closep) int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root_fd < 0 ? -errno : file_find_below(root_fd, path, flags);
}

int file_reopen(int fd)
{
	_cleanup_(closep) int found = fd;
	char link[32];
	struct stat st;
	int ret;

	if (fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	ret = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return ret < 0 ? -errno : ret;
}
