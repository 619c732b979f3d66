/* SPDX-License-Identifier: Apache-2.0 */
#include "record_io.h"

#include <fcntl.h>
#include <string.h>

static const struct io *under(void *ctx, struct record_io **ret)
{
	*ret = ctx;
	return &(*ret)->m.io;
}

static bool has(struct memory_io *m, const char *name)
{
	struct memory_file *f;

	for (size_t i = 0; (f = memory_io_file(m, name, i)); i++)
		if (!f->name[strlen(name)])
			return true;
	return false;
}

static int rec_open(void *ctx, int dir_fd, const char *path, int flags, mode_t mode)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);
	bool is_new = !(flags & O_DIRECTORY) && !has(&r->m, path);
	int fd = io->open(io->ctx, dir_fd, path, flags, mode);

	if (fd >= 0 && is_new)
		crash_log_add(&r->log, CRASH_CREATE, memory_io_of(&r->m, fd)->id, 0, NULL, 0, path,
			      NULL);
	return fd;
}

static ssize_t rec_pread(void *ctx, int fd, void *p, size_t len, off_t off)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->pread(io->ctx, fd, p, len, off);
}

static ssize_t rec_pwrite(void *ctx, int fd, const void *p, size_t len, off_t off)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	crash_log_add(&r->log, CRASH_WRITE, memory_io_of(&r->m, fd)->id, (uint64_t)off, p, len,
		      NULL, NULL);
	return io->pwrite(io->ctx, fd, p, len, off);
}

static int rec_allocate(void *ctx, int fd, off_t len)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	if (memory_io_of(&r->m, fd)->len < (size_t)len)
		crash_log_add(&r->log, CRASH_LENGTH, memory_io_of(&r->m, fd)->id, (uint64_t)len,
			      NULL, 0, NULL, NULL);
	return io->allocate(io->ctx, fd, len);
}

static int rec_truncate(void *ctx, int fd, off_t len)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	crash_log_add(&r->log, CRASH_LENGTH, memory_io_of(&r->m, fd)->id, (uint64_t)len, NULL, 0,
		      NULL, NULL);
	return io->truncate(io->ctx, fd, len);
}

static int rec_sync(void *ctx, int fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);
	const struct memory_file *f = memory_io_of(&r->m, fd);

	crash_log_add(&r->log, f ? CRASH_SYNC : CRASH_SYNC_DIR, f ? f->id : 0, 0, NULL, 0, NULL,
		      NULL);
	return io->sync(io->ctx, fd);
}

static int rec_rename(void *ctx, int dir_fd, const char *from, const char *to)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	crash_log_add(&r->log, CRASH_RENAME, memory_io_file(&r->m, from, 0)->id, 0, NULL, 0, from,
		      to);
	return io->rename(io->ctx, dir_fd, from, to);
}

static int rec_unlink(void *ctx, int dir_fd, const char *path)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	crash_log_add(&r->log, CRASH_UNLINK, 0, 0, NULL, 0, path, NULL);
	return io->unlink(io->ctx, dir_fd, path);
}

static int rec_close(void *ctx, int fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->close(io->ctx, fd);
}

static int rec_make_dir(void *ctx, int dir_fd, const char *path, mode_t mode)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->make_dir(io->ctx, dir_fd, path, mode);
}

static int rec_list(void *ctx, int dir_fd, void (*each)(void *arg, const char *name), void *arg)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->list(io->ctx, dir_fd, each, arg);
}

static int rec_lock(void *ctx, int fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->lock(io->ctx, fd);
}

static int rec_mark(void *ctx, int dir_fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->mark(io->ctx, dir_fd);
}

static int rec_is_marked(void *ctx, int dir_fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->is_marked(io->ctx, dir_fd);
}

static int rec_is_at(void *ctx, int fd, int dir_fd, const char *path)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->is_at(io->ctx, fd, dir_fd, path);
}

static int rec_exists(void *ctx, int dir_fd, const char *path)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->exists(io->ctx, dir_fd, path);
}

static uint64_t rec_free_bytes(void *ctx, int dir_fd)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	return io->free_bytes(io->ctx, dir_fd);
}

static uint64_t rec_mono_ns(void *ctx)
{
	return ((struct record_io *)ctx)->m.mono_ns;
}

static uint64_t rec_real_ns(void *ctx)
{
	return ((struct record_io *)ctx)->m.real_ns;
}

static void rec_random(void *ctx, void *p, size_t len)
{
	struct record_io *r;
	const struct io *io = under(ctx, &r);

	io->random(io->ctx, p, len);
}

void record_io_init(struct record_io *r)
{
	*r = (struct record_io){
		.io =
			{
				.open = rec_open,
				.pread = rec_pread,
				.pwrite = rec_pwrite,
				.allocate = rec_allocate,
				.truncate = rec_truncate,
				.sync = rec_sync,
				.rename = rec_rename,
				.unlink = rec_unlink,
				.close = rec_close,
				.make_dir = rec_make_dir,
				.list = rec_list,
				.lock = rec_lock,
				.mark = rec_mark,
				.is_marked = rec_is_marked,
				.is_at = rec_is_at,
				.exists = rec_exists,
				.free_bytes = rec_free_bytes,
				.mono_ns = rec_mono_ns,
				.real_ns = rec_real_ns,
				.random = rec_random,
			},
	};
	memory_io_init(&r->m);
	r->io.ctx = r;
}

void record_io_done(struct record_io *r)
{
	memory_io_done(&r->m);
	crash_log_done(&r->log);
}
