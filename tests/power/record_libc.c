/* SPDX-License-Identifier: Apache-2.0 */
#include "record_libc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	FDS = 256,
	FILE_ID = 1,
};

/* The names of libc, without its declarations, whose checked variants get in the way. */
int rec_open(const char *path, int flags, ...) __asm__("open");
ssize_t rec_write(int fd, const void *p, size_t len) __asm__("write");
ssize_t rec_writev(int fd, const struct iovec *iov, int count) __asm__("writev");
ssize_t rec_pwrite(int fd, const void *p, size_t len, off_t off) __asm__("pwrite");
int rec_ftruncate(int fd, off_t len) __asm__("ftruncate");
int rec_fsync(int fd) __asm__("fsync");
int rec_fdatasync(int fd) __asm__("fdatasync");

static struct {
	pthread_mutex_t lock;
	struct crash_log *log;
	const char *name;
	bool is_known; /* the file was seen */
	bool is_ours[FDS], is_dsync[FDS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void record_libc(struct crash_log *l, const char *name)
{
	pthread_mutex_lock(&state.lock);
	state.log = l;
	state.name = name;
	state.is_known = false;
	memset(state.is_ours, 0, sizeof(state.is_ours));
	pthread_mutex_unlock(&state.lock);
}

static void add(enum crash_op op, uint64_t off, const void *p, size_t len)
{
	crash_log_add(state.log, op, FILE_ID, off, p, len, state.name, NULL);
}

static void note_open(int fd, const char *path, int flags)
{
	const char *slash = strrchr(path, '/');

	if (fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&state.lock);
	state.is_ours[fd] = state.name && !strcmp(slash ? slash + 1 : path, state.name);
	state.is_dsync[fd] = flags & O_DSYNC;
	if (state.is_ours[fd] && !state.is_known) {
		state.is_known = true;
		add(CRASH_CREATE, 0, NULL, 0);
		add(CRASH_SYNC_DIR, 0, NULL, 0);
	}
	pthread_mutex_unlock(&state.lock);
}

int rec_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	int fd;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	note_open(fd, path, flags);
	return fd;
}

static void note_write(int fd, const void *p, ssize_t len, off_t off)
{
	if (len <= 0 || fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&state.lock);
	if (state.is_ours[fd])
		add(state.is_dsync[fd] ? CRASH_WRITE_DURABLE : CRASH_WRITE, (uint64_t)off, p,
		    (size_t)len);
	pthread_mutex_unlock(&state.lock);
}

/* Where write(2) would begin; not of sockets and the like, which are none of ours. */
static off_t position(int fd)
{
	return (off_t)syscall(SYS_lseek, fd, (off_t)0, SEEK_CUR);
}

ssize_t rec_write(int fd, const void *p, size_t len)
{
	off_t off = fd >= 0 && fd < FDS && state.is_ours[fd] ? position(fd) : 0;
	ssize_t n = syscall(SYS_write, fd, p, len);

	note_write(fd, p, n, off);
	return n;
}

ssize_t rec_writev(int fd, const struct iovec *iov, int count)
{
	off_t off = fd >= 0 && fd < FDS && state.is_ours[fd] ? position(fd) : 0;
	ssize_t n = syscall(SYS_writev, fd, iov, count), left = n;

	for (int i = 0; i < count && left > 0; i++) {
		ssize_t len = (ssize_t)iov[i].iov_len < left ? (ssize_t)iov[i].iov_len : left;

		note_write(fd, iov[i].iov_base, len, off);
		off += len;
		left -= len;
	}
	return n;
}

ssize_t rec_pwrite(int fd, const void *p, size_t len, off_t off)
{
	ssize_t n = syscall(SYS_pwrite64, fd, p, len, off);

	note_write(fd, p, n, off);
	return n;
}

static void note(int fd, enum crash_op op, off_t off)
{
	if (fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&state.lock);
	if (state.is_ours[fd])
		add(op, (uint64_t)off, NULL, 0);
	pthread_mutex_unlock(&state.lock);
}

int rec_ftruncate(int fd, off_t len)
{
	int rc = (int)syscall(SYS_ftruncate, fd, len);

	if (rc == 0)
		note(fd, CRASH_LENGTH, len);
	return rc;
}

int rec_fsync(int fd)
{
	int rc = (int)syscall(SYS_fsync, fd);

	if (rc == 0)
		note(fd, CRASH_SYNC, 0);
	return rc;
}

int rec_fdatasync(int fd)
{
	int rc = (int)syscall(SYS_fdatasync, fd);

	if (rc == 0)
		note(fd, CRASH_SYNC, 0);
	return rc;
}
