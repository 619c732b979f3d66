/* SPDX-License-Identifier: Apache-2.0 */
#include "dir_lock.h"

#include <errno.h>
#include <fcntl.h>

/* Opens and locks the file. Returns 0, 1 if another process has locked it, or an error. */
static int lock_file(const struct dir_lock_use *use, const char *dir, int dir_fd, int *ret_fd,
		     struct err *err)
{
	const struct io *io = use->io;
	int fd, rc = use->open(io, dir, dir_fd, &fd, err);

	if (rc)
		return rc;
	rc = io->lock(io->ctx, fd);
	if (!rc) {
		*ret_fd = fd;
		return 0;
	}
	io->close(io->ctx, fd);
	return rc == -EWOULDBLOCK ? 1 : err_sys(err, -rc, "%s/" DIR_LOCK_NAME, dir);
}

static int mark_dir(const struct dir_lock_use *use, const char *dir, int dir_fd, int *ret_fd,
		    struct err *err)
{
	const struct io *io = use->io;
	int fd = io->open(io->ctx, dir_fd, ".", O_RDONLY | O_DIRECTORY, 0), rc;

	if (fd < 0)
		return err_sys(err, -fd, "%s", dir);
	rc = io->mark(io->ctx, fd);
	if (!rc) {
		*ret_fd = fd;
		return 0;
	}
	io->close(io->ctx, fd);
	if (rc == -EWOULDBLOCK)
		return err_set(err, ERR_EXISTS,
			       "%s: %s, and its lock file was removed or exchanged", dir,
			       use->taken);
	return err_sys(err, -rc, "%s: marking it as in use", dir);
}

int dir_lock_take(struct dir_lock *ret, const struct dir_lock_use *use, const char *dir, int dir_fd,
		  struct err *err)
{
	struct dir_lock l = DIR_LOCK_NONE;
	int rc = lock_file(use, dir, dir_fd, &l.fd, err);

	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_EXISTS, "%s: %s", dir, use->taken);
	rc = mark_dir(use, dir, dir_fd, &l.dir_fd, err);
	if (rc) {
		dir_lock_drop(&l, use->io);
		return rc;
	}
	*ret = l;
	return 0;
}

int dir_lock_check(struct dir_lock *l, const struct dir_lock_use *use, const char *dir,
		   struct err *err)
{
	const struct io *io = use->io;
	int fd = -1, rc;

	/* A file that cannot be examined now is left alone until it can. */
	if (io->is_at(io->ctx, l->fd, l->dir_fd, DIR_LOCK_NAME) != 0) {
		l->was_taken = false;
		return 0;
	}
	rc = lock_file(use, dir, l->dir_fd, &fd, err);
	if (rc < 0)
		return 0;
	/* A process that starts now holds the file for a moment, until it sees the mark. */
	if (rc && !l->was_taken) {
		l->was_taken = true;
		return 0;
	}
	if (rc)
		return err_set(err, ERR_EXISTS,
			       "%s: the lock file was removed or exchanged, and another process "
			       "has locked the new one",
			       dir);
	io->close(io->ctx, l->fd);
	l->fd = fd;
	l->was_taken = false;
	err_set(err, ERR_NOT_FOUND,
		"%s/" DIR_LOCK_NAME ": was removed or exchanged while it was locked: it is made "
		"anew",
		dir);
	return 1;
}

void dir_lock_drop(struct dir_lock *l, const struct io *io)
{
	if (l->fd >= 0)
		io->close(io->ctx, l->fd);
	if (l->dir_fd >= 0)
		io->close(io->ctx, l->dir_fd);
	*l = DIR_LOCK_NONE;
}
