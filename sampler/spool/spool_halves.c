/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_halves.h"

#include <errno.h>
#include <fcntl.h>

int spool_halves_read(const struct io *io, int dir_fd, const char *name, int half, void *p,
		      size_t len)
{
	int fd = io->open(io->ctx, dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0), rc;

	if (fd < 0)
		return fd;
	rc = io_read_all(io, fd, p, len, half * (off_t)SPOOL_HALVES_STRIDE, NULL);
	io->close(io->ctx, fd);
	return rc;
}

int spool_halves_write(const struct io *io, int dir_fd, const char *name, uint64_t sequence,
		       bool syncs, const void *p, size_t len)
{
	int fd = io->open(io->ctx, dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct err err;
	int rc;

	if (fd < 0)
		return fd;
	rc = io->allocate(io->ctx, fd, 2 * (off_t)SPOOL_HALVES_STRIDE);
	if (!rc && io_write_all(io, fd, p, len, (off_t)(sequence % 2 * SPOOL_HALVES_STRIDE), &err))
		rc = -EIO;
	if (!rc && syncs)
		rc = io->sync(io->ctx, fd);
	io->close(io->ctx, fd);
	return rc;
}
