/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_place.h"

#include <errno.h>
#include <fcntl.h>

static int open_spool_lock(const struct io *io, const char *dir, int dir_fd, int *ret_fd,
			   struct err *err)
{
	int fd = io->open(io->ctx, dir_fd, DIR_LOCK_NAME,
			  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return err_sys(err, -fd, "%s/" DIR_LOCK_NAME, dir);
	*ret_fd = fd;
	return 0;
}

static struct dir_lock_use lock_spool_use(const struct io *io)
{
	return (struct dir_lock_use){io, open_spool_lock, "another capturer writes to this spool"};
}

int spool_place_open(struct spool_place *ret, const struct io *io, const char *dir, struct err *err)
{
	const struct dir_lock_use use = lock_spool_use(io);
	struct spool_place p = SPOOL_PLACE_NONE;
	int rc = io->make_dir(io->ctx, AT_FDCWD, dir, 0700);

	*ret = p;
	if (rc && rc != -EEXIST)
		return err_sys(err, -rc, "%s", dir);
	p.dir_fd = io->open(io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (p.dir_fd < 0)
		return err_sys(err, -p.dir_fd, "%s", dir);
	rc = dir_lock_take(&p.lock, &use, dir, p.dir_fd, err);
	if (rc) {
		spool_place_close(&p, io);
		return rc;
	}
	*ret = p;
	return 0;
}

void spool_place_close(struct spool_place *p, const struct io *io)
{
	dir_lock_drop(&p->lock, io);
	if (p->dir_fd >= 0)
		io->close(io->ctx, p->dir_fd);
	*p = SPOOL_PLACE_NONE;
}

int spool_place_check_lock(struct spool_place *p, const struct io *io, const char *dir,
			   struct err *err)
{
	const struct dir_lock_use use = lock_spool_use(io);

	return dir_lock_check(&p->lock, &use, dir, err);
}
