/* SPDX-License-Identifier: Apache-2.0 */
#include "record_libc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	FDS = 256,
	NAMES = 256,
	DIRECTORY = -1,
};

/* The names of libc, without its declarations, whose checked variants get in the way. */
int rec_open(const char *path, int flags, ...) __asm__("open");
int rec_openat(int dir_fd, const char *path, int flags, ...) __asm__("openat");
int rec_close(int fd) __asm__("close");
int rec_dup(int fd) __asm__("dup");
ssize_t rec_write(int fd, const void *p, size_t len) __asm__("write");
ssize_t rec_writev(int fd, const struct iovec *iov, int count) __asm__("writev");
ssize_t rec_pwrite(int fd, const void *p, size_t len, off_t off) __asm__("pwrite");
int rec_ftruncate(int fd, off_t len) __asm__("ftruncate");
int rec_fsync(int fd) __asm__("fsync");
int rec_fdatasync(int fd) __asm__("fdatasync");
int rec_mkdirat(int dir_fd, const char *path, mode_t mode) __asm__("mkdirat");
int rec_renameat(int from_fd, const char *from, int to_fd, const char *to) __asm__("renameat");
int rec_unlinkat(int dir_fd, const char *path, int flags) __asm__("unlinkat");

static struct {
	pthread_mutex_t lock;
	struct crash_log *log;
	const char *name;
	bool is_dir;
	struct {
		int64_t id; /* of the file; 0: none of ours */
		bool is_dsync, appends;
	} fds[FDS];
	struct {
		char name[128];
		int64_t id; /* 0: free */
	} names[NAMES];
	int64_t next_id;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void begin(struct crash_log *l, const char *name, bool is_dir)
{
	pthread_mutex_lock(&state.lock);
	state.log = l;
	state.name = name;
	state.is_dir = is_dir;
	state.next_id = 1;
	memset(state.fds, 0, sizeof(state.fds));
	memset(state.names, 0, sizeof(state.names));
	pthread_mutex_unlock(&state.lock);
}

void record_libc(struct crash_log *l, const char *name)
{
	begin(l, name, false);
}

void record_libc_dir(struct crash_log *l, const char *name)
{
	begin(l, name, true);
}

static void add(enum crash_op op, int64_t id, uint64_t off, const void *p, size_t len)
{
	crash_log_add(state.log, op, (uint64_t)id, off, p, len, NULL, NULL);
}

/* --- names ----------------------------------------------------------------------------------- */

static int64_t find_name(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (state.names[i].id && !strcmp(state.names[i].name, name))
			return state.names[i].id;
	return 0;
}

static void set_name(const char *name, int64_t id)
{
	size_t at = 0;

	while (at < NAMES && state.names[at].id && strcmp(state.names[at].name, name) != 0)
		at++;
	if (at == NAMES)
		abort();
	snprintf(state.names[at].name, sizeof(state.names[at].name), "%s", name);
	state.names[at].id = id;
}

static void remove_name(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (state.names[i].id && !strcmp(state.names[i].name, name))
			state.names[i].id = 0;
}

static int64_t create(const char *name)
{
	set_name(name, state.next_id);
	crash_log_add(state.log, CRASH_CREATE, (uint64_t)state.next_id, 0, NULL, 0, name, NULL);
	return state.next_id++;
}

static bool is_our_dir(int fd)
{
	return fd >= 0 && fd < FDS && state.fds[fd].id == DIRECTORY;
}

/* Whether a path ends in a name, with nothing or a slash before it. */
static bool ends_in(const char *path, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len >= n && !memcmp(path + len - n, name, n) &&
	       (len == n || path[len - n - 1] == '/');
}

/* --- files ----------------------------------------------------------------------------------- */

/* The id of what was opened; a new file is created with its name. */
static int64_t identify(int dir_fd, const char *path, int flags)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	int64_t id;

	if (!state.name || flags & (O_TMPFILE & ~O_DIRECTORY))
		return 0;
	if (!state.is_dir) {
		if (strcmp(last, state.name) != 0)
			return 0;
		id = find_name(last);
		if (!id) {
			id = create(last);
			add(CRASH_SYNC_DIR, 0, 0, NULL, 0);
		}
		return id;
	}
	if (flags & O_DIRECTORY)
		return ends_in(path, strlen(path), state.name) ||
				       (is_our_dir(dir_fd) && !strcmp(path, "."))
			       ? DIRECTORY
			       : 0;
	if (slash ? !ends_in(path, (size_t)(slash - path), state.name) : !is_our_dir(dir_fd))
		return 0;
	id = find_name(last);
	if (!id)
		id = create(last);
	else if (flags & O_TRUNC)
		add(CRASH_LENGTH, id, 0, NULL, 0);
	return id;
}

static void note_open(int fd, int dir_fd, const char *path, int flags)
{
	if (fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&state.lock);
	state.fds[fd].id = identify(dir_fd, path, flags);
	state.fds[fd].is_dsync = flags & O_DSYNC;
	state.fds[fd].appends = flags & O_APPEND;
	pthread_mutex_unlock(&state.lock);
}

static int open_at(int dir_fd, const char *path, int flags, mode_t mode)
{
	int fd = (int)syscall(SYS_openat, dir_fd, path, flags, mode);

	note_open(fd, dir_fd, path, flags);
	return fd;
}

int rec_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at(AT_FDCWD, path, flags, mode);
}

int rec_openat(int dir_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at(dir_fd, path, flags, mode);
}

int rec_close(int fd)
{
	if (fd >= 0 && fd < FDS) {
		pthread_mutex_lock(&state.lock);
		state.fds[fd].id = 0;
		pthread_mutex_unlock(&state.lock);
	}
	return (int)syscall(SYS_close, fd);
}

int rec_dup(int fd)
{
	int copy = (int)syscall(SYS_dup, fd);

	if (fd >= 0 && fd < FDS && copy >= 0 && copy < FDS) {
		pthread_mutex_lock(&state.lock);
		state.fds[copy] = state.fds[fd];
		pthread_mutex_unlock(&state.lock);
	}
	return copy;
}

static void note_write(int fd, const void *p, ssize_t len, off_t off)
{
	if (len <= 0 || fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&state.lock);
	if (state.fds[fd].id > 0)
		add(state.fds[fd].is_dsync ? CRASH_WRITE_DURABLE : CRASH_WRITE, state.fds[fd].id,
		    (uint64_t)off, p, (size_t)len);
	pthread_mutex_unlock(&state.lock);
}

/* Where write(2) would begin; not of sockets and the like, which are none of ours. */
static off_t position(int fd)
{
	if (fd < 0 || fd >= FDS || state.fds[fd].id <= 0)
		return 0;
	return (off_t)syscall(SYS_lseek, fd, (off_t)0, state.fds[fd].appends ? SEEK_END : SEEK_CUR);
}

ssize_t rec_write(int fd, const void *p, size_t len)
{
	off_t off = position(fd);
	ssize_t n = syscall(SYS_write, fd, p, len);

	note_write(fd, p, n, off);
	return n;
}

ssize_t rec_writev(int fd, const struct iovec *iov, int count)
{
	off_t off = position(fd);
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
	if (state.fds[fd].id == DIRECTORY && op == CRASH_SYNC)
		add(CRASH_SYNC_DIR, 0, 0, NULL, 0);
	else if (state.fds[fd].id > 0)
		add(op, state.fds[fd].id, (uint64_t)off, NULL, 0);
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

/* --- changes of names ------------------------------------------------------------------------ */

int rec_mkdirat(int dir_fd, const char *path, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdirat, dir_fd, path, mode);

	pthread_mutex_lock(&state.lock);
	if (rc == 0 && is_our_dir(dir_fd))
		create(path);
	pthread_mutex_unlock(&state.lock);
	return rc;
}

int rec_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	int rc = (int)syscall(SYS_renameat, from_fd, from, to_fd, to);
	int64_t id;

	pthread_mutex_lock(&state.lock);
	if (rc == 0 && is_our_dir(from_fd)) {
		id = find_name(from);
		remove_name(from);
		set_name(to, id);
		crash_log_add(state.log, CRASH_RENAME, (uint64_t)id, 0, NULL, 0, from, to);
	}
	pthread_mutex_unlock(&state.lock);
	return rc;
}

int rec_unlinkat(int dir_fd, const char *path, int flags)
{
	int rc = (int)syscall(SYS_unlinkat, dir_fd, path, flags);

	pthread_mutex_lock(&state.lock);
	if (rc == 0 && is_our_dir(dir_fd)) {
		remove_name(path);
		crash_log_add(state.log, CRASH_UNLINK, 0, 0, NULL, 0, path, NULL);
	}
	pthread_mutex_unlock(&state.lock);
	return rc;
}
