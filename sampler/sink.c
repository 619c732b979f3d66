/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"

struct sink {
	const struct io *io;
	char *dir;
	int dir_fd;
};

int sink_open(struct sink **ret, const char *dir, const struct io *io, struct err *err)
{
	_cleanup_(sink_closep) struct sink *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, ERR_MEMORY, "sink: out of memory");
	s->dir_fd = -1;
	s->io = io ? io : io_system();
	s->dir = strdup(dir);
	if (!s->dir)
		return err_set(err, ERR_MEMORY, "sink: out of memory");
	rc = s->io->make_dir(s->io->ctx, AT_FDCWD, dir, 0700);
	if (rc && rc != -EEXIST)
		return err_sys(err, -rc, "%s", dir);
	s->dir_fd = s->io->open(s->io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (s->dir_fd < 0)
		return err_sys(err, -s->dir_fd, "%s", dir);
	*ret = TAKE_PTR(s);
	return 0;
}

int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err)
{
	char name[2 * LIMIT_BATCH_ID_LEN + sizeof(".pb.gz")];
	int rc;

	if (!id_len || id_len > LIMIT_BATCH_ID_LEN)
		return err_set(err, ERR_USAGE, "sink: batch id of %zu bytes", id_len);
	for (size_t i = 0; i < id_len; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 2 * id_len, sizeof(".pb.gz"), ".pb.gz");
	rc = io_replace_file(s->io, s->dir_fd, name, file, len, err);
	return rc ? err_prefix(err, "%s", s->dir) : 0;
}

void sink_close(struct sink *s)
{
	if (!s)
		return;
	if (s->dir_fd >= 0)
		s->io->close(s->io->ctx, s->dir_fd);
	free(s->dir);
	free(s);
}
