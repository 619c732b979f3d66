/* SPDX-License-Identifier: Apache-2.0 */
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "number.h"

#define RETRY(call)                                \
	__extension__({                            \
		__typeof__(call) rc_;              \
		do                                 \
			rc_ = (call);              \
		while (rc_ < 0 && errno == EINTR); \
		rc_ < 0 ? -errno : rc_;            \
	})

static int sys_open(void *ctx _unused_, int dir_fd, const char *path, int flags, mode_t mode)
{
	return RETRY(openat(dir_fd, path, flags | O_CLOEXEC, mode));
}

static ssize_t sys_pread(void *ctx _unused_, int fd, void *p, size_t len, off_t off)
{
	return RETRY(pread(fd, p, len, off));
}

static ssize_t sys_pwrite(void *ctx _unused_, int fd, const void *p, size_t len, off_t off)
{
	return RETRY(pwrite(fd, p, len, off));
}

static int sys_allocate(void *ctx _unused_, int fd, off_t len)
{
	int rc;

	do
		rc = posix_fallocate(fd, 0, len);
	while (rc == EINTR);
	return -rc;
}

static int sys_truncate(void *ctx _unused_, int fd, off_t len)
{
	return RETRY(ftruncate(fd, len));
}

static int sys_sync(void *ctx _unused_, int fd)
{
	return RETRY(fdatasync(fd));
}

static int sys_rename(void *ctx _unused_, int dir_fd, const char *from, const char *to)
{
	return renameat(dir_fd, from, dir_fd, to) ? -errno : 0;
}

static int sys_unlink(void *ctx _unused_, int dir_fd, const char *path)
{
	return unlinkat(dir_fd, path, 0) ? -errno : 0;
}

static int sys_close(void *ctx _unused_, int fd)
{
	return close(fd) && errno != EINTR ? -errno : 0;
}

static int sys_make_dir(void *ctx _unused_, int dir_fd, const char *path, mode_t mode)
{
	return mkdirat(dir_fd, path, mode) ? -errno : 0;
}

static int sys_list(void *ctx _unused_, int dir_fd, void (*each)(void *arg, const char *name),
		    void *arg)
{
	/* Uses a descriptor of its own, because closedir() closes it and the read position would be
	 * shared. */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		rc = -errno;
		close(fd);
		return rc;
	}
	for (errno = 0; (entry = readdir(dir)); errno = 0)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			each(arg, entry->d_name);
	rc = -errno;
	closedir(dir);
	return rc;
}

static int sys_lock(void *ctx _unused_, int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

/*
 * Uses open file description locks on the first byte of the directory. A write lock needs a
 * descriptor that is open for writing, which a directory never is. So everybody takes a read lock,
 * and asks whether it would conflict with a write lock.
 */
static int sys_is_marked(void *ctx _unused_, int dir_fd)
{
	struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(dir_fd, F_OFD_GETLK, &other))
		return -errno;
	return other.l_type != F_UNLCK;
}

static int sys_mark(void *ctx, int dir_fd)
{
	struct flock mark = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	int rc;

	if (fcntl(dir_fd, F_OFD_SETLK, &mark))
		return -errno;
	rc = sys_is_marked(ctx, dir_fd);
	if (!rc)
		return 0;
	mark.l_type = F_UNLCK;
	(void)fcntl(dir_fd, F_OFD_SETLK, &mark);
	return rc < 0 ? rc : -EWOULDBLOCK;
}

static int sys_is_at(void *ctx _unused_, int fd, int dir_fd, const char *path)
{
	struct stat open, named;

	if (fstat(fd, &open))
		return -errno;
	if (fstatat(dir_fd, path, &named, 0))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static int sys_exists(void *ctx _unused_, int dir_fd, const char *path)
{
	struct stat st;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static uint64_t sys_free_bytes(void *ctx _unused_, int dir_fd)
{
	struct statvfs st;

	return fstatvfs(dir_fd, &st) ? 0 : (uint64_t)st.f_bavail * st.f_frsize;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t sys_mono_ns(void *ctx _unused_)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t sys_real_ns(void *ctx _unused_)
{
	return clock_ns(CLOCK_REALTIME);
}

static void sys_random(void *ctx _unused_, void *p, size_t len)
{
	uint8_t *to = p;

	while (len) {
		ssize_t n = getrandom(to, len, 0);

		if (n <= 0)
			continue;
		to += n;
		len -= (size_t)n;
	}
}

const struct io *io_system(void)
{
	static const struct io sys = {
		.open = sys_open,
		.pread = sys_pread,
		.pwrite = sys_pwrite,
		.allocate = sys_allocate,
		.truncate = sys_truncate,
		.sync = sys_sync,
		.rename = sys_rename,
		.unlink = sys_unlink,
		.close = sys_close,
		.make_dir = sys_make_dir,
		.list = sys_list,
		.lock = sys_lock,
		.mark = sys_mark,
		.is_marked = sys_is_marked,
		.is_at = sys_is_at,
		.exists = sys_exists,
		.free_bytes = sys_free_bytes,
		.mono_ns = sys_mono_ns,
		.real_ns = sys_real_ns,
		.random = sys_random,
	};

	return &sys;
}

int io_write_all(const struct io *io, int fd, const void *p, size_t len, off_t off, struct err *err)
{
	const uint8_t *from = p;

	while (len) {
		ssize_t n = io->pwrite(io->ctx, fd, from, len, off);

		if (n < 0)
			return err_sys(err, (int)-n, "write");
		if (n == 0)
			return err_set(err, ERR_IO, "write: no progress");
		from += n;
		off += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_read_all(const struct io *io, int fd, void *p, size_t len, off_t off, struct err *err)
{
	uint8_t *to = p;

	while (len) {
		ssize_t n = io->pread(io->ctx, fd, to, len, off);

		if (n < 0)
			return err_sys(err, (int)-n, "read");
		if (n == 0)
			return err_set(err, ERR_DATA, "file ends %zu bytes early", len);
		to += n;
		off += n;
		len -= (size_t)n;
	}
	return 0;
}

enum {
	IO_MODE = 0600 /* mode of the files of struct io */
};

static int write_and_sync(const struct io *io, int fd, const void *p, size_t len, struct err *err)
{
	int rc;

	TRY(io_write_all(io, fd, p, len, 0, err));
	rc = io->sync(io->ctx, fd);
	return rc ? err_sys(err, -rc, "sync") : 0;
}

/* Replaces a file. The file gets its mode before its name, because others may take it as soon as it
 * has a name. */
static int replace_file(const struct io *io, int dir_fd, const char *name, mode_t mode,
			const void *p, size_t len, struct err *err)
{
	char temp[300];
	uint64_t salt;
	int fd, rc;

	io->random(io->ctx, &salt, sizeof(salt));
	if (snprintf(temp, sizeof(temp), ".%s.%016llx.tmp", name, (unsigned long long)salt) >=
	    (int)sizeof(temp))
		return err_set(err, ERR_USAGE, "%s: name too long", name);
	fd = io->open(io->ctx, dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL, IO_MODE);
	if (fd < 0)
		return err_sys(err, -fd, "%s", temp);
	rc = write_and_sync(io, fd, p, len, err);
	if (!rc && mode != IO_MODE && fchmod(fd, mode))
		rc = err_sys(err, errno, "mode");
	io->close(io->ctx, fd);
	if (!rc) {
		rc = io->rename(io->ctx, dir_fd, temp, name);
		if (rc)
			rc = err_sys(err, -rc, "rename");
	}
	if (rc) {
		io->unlink(io->ctx, dir_fd, temp);
		return err_prefix(err, "%s", name);
	}
	rc = io->sync(io->ctx, dir_fd);
	return rc ? err_sys(err, -rc, "%s: sync of its directory", name) : 0;
}

int io_replace_file(const struct io *io, int dir_fd, const char *name, const void *p, size_t len,
		    struct err *err)
{
	return replace_file(io, dir_fd, name, IO_MODE, p, len, err);
}

int io_check_output(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "%s: not a regular file", path);
	return 0;
}

int io_check_writers(int dir_fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(dir_fd, &st))
		return err_sys(err, errno, "%s", path);
	if (!(st.st_mode & S_IWOTH))
		return 0;
	return err_set(err, ERR_DENIED, "%s: everybody may write to it (mode %04o): %s", path,
		       (unsigned int)st.st_mode & 07777,
		       st.st_mode & S_ISVTX ? "use a directory in it"
					    : "chmod o-w it, or use another directory");
}

int io_check_dir(const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "%s", path);
	return io_check_writers(fd, path, err);
}

int io_write_file(const char *path, const void *p, size_t len, mode_t mode, struct err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_(freep) char *dir =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	_cleanup_(closep) int dir_fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir_fd < 0)
		return err_sys(err, dir ? errno : ENOMEM, "%s", path);
	TRY(io_check_output(path, err));
	return replace_file(io_system(), dir_fd, name, mode, p, len, err);
}

int io_read_file(const char *path, size_t max, uint8_t **ret_p, size_t *ret_len, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(freep) uint8_t *p = NULL;
	/* Never reads much more than max: for some files of /proc the kernel allocates and clears
	 * as much memory as the read asks for. */
	const size_t step = max < (64 << 10) ? max + 2 : 64 << 10;
	size_t len = 0, cap = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(err, errno, "%s", path);
	if (fstat(fd, &st))
		return err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "%s: not a regular file", path);
	for (;;) {
		ssize_t n;

		if (!GROW(p, &cap, len + step, SIZE_MAX / 2))
			return err_no_memory(err);
		n = RETRY(read(fd, p + len, cap - len - 1));
		if (n < 0)
			return err_sys(err, (int)-n, "%s", path);
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return err_set(err, ERR_LIMIT, "%s: larger than %zu bytes", path, max);
	}
	p[len] = 0;
	*ret_p = TAKE_PTR(p);
	*ret_len = len;
	return 0;
}

bool io_read_id(const char *path, uint8_t id[static 16])
{
	_cleanup_(freep) uint8_t *text = NULL;
	size_t len, digits = 0;

	memset(id, 0, 16);
	if (io_read_file(path, 4096, &text, &len, NULL))
		return false;
	for (size_t i = 0; i < len && digits < 32; i++) {
		const char hex[2] = {(char)text[i], 0};
		uint64_t v;

		if (!number_read(hex, 16, &v))
			continue;
		id[digits / 2] |= (uint8_t)(digits % 2 ? v : v << 4);
		digits++;
	}
	if (digits < 32)
		memset(id, 0, 16);
	return digits == 32;
}
