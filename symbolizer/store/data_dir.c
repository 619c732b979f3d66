/* SPDX-License-Identifier: Apache-2.0 */
#include "data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "limits.h"

struct owned {
	const char *dir, *name;
	int dir_fd;
	struct stat owner; /* status of the directory */
};

/* Makes the file. It is linked to its name after fchown(), so that a service that starts meanwhile
 * can open it. */
static int make_owned(const struct owned *o, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	char path[32];

	if (geteuid())
		return err_set(err, ERR_DENIED,
			       "%s/%s: missing, and only the directory's owner, user %u, may make "
			       "it: do this as that user, or as root",
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
		return data_dir_check_file(dir, name, err);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return check_owned(&o, fd, err);
	if (errno == ENOENT)
		return make_owned(&o, err);
	return errno == ELOOP ? err_set(err, ERR_DENIED, "%s/%s: a symbolic link", dir, name)
			      : err_sys(err, errno, "%s/%s", dir, name);
}

/* --- what is opened there -------------------------------------------------------------------- */

static bool has_our_owner(const struct stat *dir, const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == dir->st_uid;
}

/* Returns whether nobody but us can have put a file there, so that its owner is of our own
 * choosing. */
static bool is_private(const struct stat *dir)
{
	return dir->st_uid == geteuid() && !(dir->st_mode & (S_IWGRP | S_IWOTH));
}

static int say_alien(const char *where, const char *name, const struct stat *st, struct err *err)
{
	return err_set(err, ERR_DENIED,
		       "%s/%s: belongs to user %u, who is neither this user nor the owner of the "
		       "data directory: move it away, or chown it",
		       where, name, (unsigned int)st->st_uid);
}

static int say_link(const char *where, const char *name, struct err *err)
{
	return err_set(err, ERR_DENIED,
		       "%s/%s: a symbolic link, which is not followed: put what it leads to in its "
		       "place, by a bind mount for instance",
		       where, name);
}

/* Writes the path of an open directory, for error messages. */
static void name_of_directory(int dir_fd, char name[static LIMIT_PATH_LEN])
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	len = readlink(link, name, LIMIT_PATH_LEN - 1);
	snprintf(name + (len > 0 ? len : 0), LIMIT_PATH_LEN - (size_t)(len > 0 ? len : 0), "%s",
		 len > 0 ? "" : "data directory");
}

static bool is_link(int dir_fd, const char *name)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode);
}

int data_dir_open_part(int data_fd, const char *name, int *ret_fd, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	char dir[LIMIT_PATH_LEN];
	struct stat data, st;

	name_of_directory(data_fd, dir);
	if (mkdirat(data_fd, name, 0700) && errno != EEXIST)
		return err_sys(err, errno, "%s/%s", dir, name);
	fd = openat(data_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return is_link(data_fd, name)
			       ? say_link(dir, name, err)
			       : err_set(err, ERR_DENIED, "%s/%s: no directory: move it away", dir,
					 name);
	if (fd < 0 || fstat(data_fd, &data) || fstat(fd, &st))
		return err_sys(err, errno, "%s/%s", dir, name);
	if (!has_our_owner(&data, &st))
		return say_alien(dir, name, &st, err);
	if (st.st_mode & S_IWOTH)
		return err_set(err, ERR_DENIED,
			       "%s/%s: everybody may write to it (mode %04o): chmod o-w it", dir,
			       name, (unsigned int)st.st_mode & 07777);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool data_dir_has_part(int data_fd, const char *name, int fd)
{
	struct stat open, named;

	if (fstat(fd, &open))
		return true;
	if (fstatat(data_fd, name, &named, AT_SYMLINK_NOFOLLOW))
		return errno != ENOENT && errno != ENOTDIR;
	return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

int data_dir_open_file(int dir_fd, const char *where, const char *name, int flags, int *ret_fd,
		       struct err *err)
{
	_cleanup_(closep) int fd =
		openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat dir, st;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "%s/%s: no such file", where, name);
	if (fd < 0 && errno == ELOOP)
		return say_link(where, name, err);
	if (fd < 0 || fstat(dir_fd, &dir) || fstat(fd, &st))
		return err_sys(err, errno, "%s/%s", where, name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_DENIED, "%s/%s: no regular file", where, name);
	if (!has_our_owner(&dir, &st) && !is_private(&dir))
		return say_alien(where, name, &st, err);
	if (st.st_nlink > 1 && dir.st_uid != geteuid())
		return err_set(err, ERR_DENIED, "%s/%s: has a second hard link", where, name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_data_lock(const struct io *io _unused_, const char *dir, int dir_fd, int *ret_fd,
			  struct err *err)
{
	return data_dir_open_file(dir_fd, dir, DIR_LOCK_NAME, O_RDWR | O_CREAT, ret_fd, err);
}

static struct dir_lock_use lock_data_use(void)
{
	return (struct dir_lock_use){io_system(), open_data_lock, "in use by another process"};
}

int data_dir_lock(const char *dir, int dir_fd, struct dir_lock *ret, struct err *err)
{
	const struct dir_lock_use use = lock_data_use();

	return dir_lock_take(ret, &use, dir, dir_fd, err);
}

int data_dir_check_lock(const char *dir, struct dir_lock *l, struct err *err)
{
	const struct dir_lock_use use = lock_data_use();

	return dir_lock_check(l, &use, dir, err);
}

void data_dir_unlock(struct dir_lock *l)
{
	dir_lock_drop(l, io_system());
}

int data_dir_check_file(const char *dir, const char *name, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	int rc;

	if (dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	rc = data_dir_open_file(dir_fd, dir, name, O_RDONLY, &fd, err);
	return rc == ERR_NOT_FOUND ? 0 : rc;
}
