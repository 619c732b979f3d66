/* SPDX-License-Identifier: Apache-2.0 */
#include "gsym_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"

void gsym_output_done(struct gsym_output *o)
{
	if (o->fd >= 0)
		unlinkat(o->dir_fd, o->temp, 0);
	closep(&o->fd);
	closep(&o->dir_fd);
}

int gsym_output_open(struct gsym_output *o, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[LIMIT_PATH_LEN] = ".";

	o->name = slash ? slash + 1 : path;
	if (slash &&
	    snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path) >= (int)sizeof(dir))
		return err_set(err, ERR_USAGE, "%s: path too long", path);
	if (snprintf(o->temp, sizeof(o->temp), ".%.200s.%d.tmp", o->name, getpid()) < 0 ||
	    !*o->name)
		return err_set(err, ERR_USAGE, "'%s' is not a file name", path);
	TRY(io_check_output(path, err));
	o->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	o->fd = openat(o->dir_fd, o->temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		       0666);
	return o->fd < 0 ? err_sys(err, errno, "%s", path) : 0;
}

int gsym_output_commit(struct gsym_output *o, const char *path, struct err *err)
{
	if (fsync(o->fd) || renameat(o->dir_fd, o->temp, o->dir_fd, o->name))
		return err_sys(err, errno, "%s", path);
	close(TAKE_FD(o->fd));
	return 0;
}
