/* SPDX-License-Identifier: Apache-2.0 */
#include "data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

struct owned {
	const char *dir, *name;
	int dir_fd;
	struct stat owner; /* of the directory */
};

/* Its name appears when it has its owner already: a service that starts meanwhile can open it. */
static int make_owned(const struct owned *o, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	char path[32];

	if (geteuid())
		return err_set(err, ERR_DENIED,
			       "%s/%s: not there, and only the directory's owner, user %u, may "
			       "make it: do this as that user, or as root",
			       o->dir, o->name, (unsigned int)o->owner.st_uid);
	fd = openat(o->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || fchown(fd, o->owner.st_uid, o->owner.st_gid))
		return err_sys(err, errno, "%s/%s", o->dir, o->name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, o->dir_fd, o->name, AT_SYMLINK_FOLLOW) && errno != EEXIST)
		return err_sys(err, errno, "%s/%s", o->dir, o->name);
	return 0;
}

static int check_owned(const struct owned *o, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, errno, "%s/%s", o->dir, o->name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_DENIED, "%s/%s: no regular file", o->dir, o->name);
	if (geteuid() == 0 && st.st_uid != o->owner.st_uid &&
	    fchown(fd, o->owner.st_uid, o->owner.st_gid))
		return err_sys(err, errno, "%s/%s", o->dir, o->name);
	return 0;
}

int data_dir_own_file(const char *dir, const char *name, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct owned o = {.dir = dir, .name = name, .dir_fd = dir_fd};

	if (dir_fd < 0 || fstat(dir_fd, &o.owner))
		return err_sys(err, errno, "%s", dir);
	if (o.owner.st_uid == geteuid())
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return check_owned(&o, fd, err);
	if (errno == ENOENT)
		return make_owned(&o, err);
	return errno == ELOOP ? err_set(err, ERR_DENIED, "%s/%s: a symbolic link", dir, name)
			      : err_sys(err, errno, "%s/%s", dir, name);
}
