/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IO_H
#define RAWSTACK_IO_H
/*
 * The operating system behind one struct: files, two clocks, random bytes. Code that must survive a
 * crash (the spool, sinks) does its file work through a struct io, so that a test can record each
 * call, fail the Nth, stop the clock, or replay a power cut. io_system() is the real system. Calls
 * return 0 or more, or -errno; they retry only for EINTR.
 *
 * A struct io and its context must outlive whoever uses them. io_system() is safe from any thread.
 */
#include <sys/types.h>

#include "base.h"
#include "err.h"

struct io {
	void *ctx;
	/* All paths are relative to a directory descriptor, as in openat(2). */
	int (*open)(void *ctx, int dir_fd, const char *path, int flags, mode_t mode);
	ssize_t (*pread)(void *ctx, int fd, void *p, size_t len, off_t off);
	ssize_t (*pwrite)(void *ctx, int fd, const void *p, size_t len, off_t off);
	int (*allocate)(void *ctx, int fd, off_t len); /* posix_fallocate(3) from 0 */
	int (*truncate)(void *ctx, int fd, off_t len);
	int (*sync)(void *ctx, int fd); /* fdatasync(2); on a directory fsync(2) */
	int (*rename)(void *ctx, int dir_fd, const char *from, const char *to);
	int (*unlink)(void *ctx, int dir_fd, const char *path);
	int (*close)(void *ctx, int fd);
	int (*exists)(void *ctx, int dir_fd, const char *path); /* 1, or 0 if nothing is there */
	int (*make_dir)(void *ctx, int dir_fd, const char *path, mode_t mode);
	/* Calls each() with every name in the directory but "." and "..", in any order. */
	int (*list)(void *ctx, int dir_fd, void (*each)(void *arg, const char *name), void *arg);
	/* Takes the advisory lock of the open file, which ends with its descriptor. Returns
	 * -EWOULDBLOCK if another process has it. Never waits. */
	int (*lock)(void *ctx, int fd);
	/* Marks an open directory as used by this process, until the descriptor is closed. The
	 * kernel keeps the mark and no file shows it, so nobody can remove it. Returns -EWOULDBLOCK
	 * if another descriptor has marked it. The mark is independent of lock(). Never waits. */
	int (*mark)(void *ctx, int dir_fd);
	int (*is_marked)(void *ctx, int dir_fd); /* 1 if another descriptor has marked it, or 0 */
	/* Returns 1 if the path leads to the file that is open as fd, or 0 if it leads elsewhere or
	 * nowhere. */
	int (*is_at)(void *ctx, int fd, int dir_fd, const char *path);
	/* Returns how many bytes are free for unprivileged users, or 0 on failure. */
	uint64_t (*free_bytes)(void *ctx, int dir_fd);
	uint64_t (*mono_ns)(void *ctx); /* CLOCK_MONOTONIC */
	uint64_t (*real_ns)(void *ctx); /* CLOCK_REALTIME, since 1970 */
	void (*random)(void *ctx, void *p, size_t len);
};

const struct io *io_system(void);

/* Returns CLOCK_MONOTONIC of the real system. */
static inline uint64_t io_mono_ns(void)
{
	return io_system()->mono_ns(NULL);
}

/* Write or read a whole buffer at `off` by any struct io. Return 0 or an error of err_sys().
 * io_read_all() returns ERR_DATA if the file ends before len bytes. */
int io_write_all(const struct io *io, int fd, const void *p, size_t len, off_t off,
		 struct err *err);
int io_read_all(const struct io *io, int fd, void *p, size_t len, off_t off, struct err *err);

/*
 * Writes a whole file so that a crash leaves the old one, the new one or none, never a part: a
 * temporary name in the same directory, sync, rename, sync of the directory. The file has mode
 * 0600. Returns 0, ERR_USAGE if the name is too long, or an error of err_sys().
 */
int io_replace_file(const struct io *io, int dir_fd, const char *name, const void *p, size_t len,
		    struct err *err);

/* Checks that a file may take the place of what is at path: nothing, or a regular file. A device
 * that is renamed over is gone for everyone. Returns 0 or ERR_UNSUPPORTED. */
int io_check_output(const char *path, struct err *err) _must_check_;

/* Refuses a directory that everybody may write to, because it may hold anybody's files: ERR_DENIED.
 * The sticky bit does not help, since it keeps others from removing files but not from adding them.
 * A group that may write is the operator's choice. `path` is for the error. */
int io_check_writers(int dir_fd, const char *path, struct err *err) _must_check_;

/* Does the same by path. A directory that does not exist yet is fine. */
int io_check_dir(const char *path, struct err *err) _must_check_;

/* Does what io_replace_file() does, but by path, with any mode, and on the real system. For files
 * that others read. */
int io_write_file(const char *path, const void *p, size_t len, mode_t mode, struct err *err);

/*
 * Reads a whole regular file of at most max bytes into new memory, followed by a NUL; the caller
 * frees *ret_p. Returns ERR_LIMIT if the file is larger. Works on files of /proc, whose size is 0.
 */
int io_read_file(const char *path, size_t max, uint8_t **ret_p, size_t *ret_len, struct err *err);

/* Reads the first 16 bytes that a file, such as IO_BOOT_ID, holds as hex digits. Returns false, and
 * zero bytes, if it holds fewer. */
#define IO_BOOT_ID "/proc/sys/kernel/random/boot_id"
bool io_read_id(const char *path, uint8_t id[static 16]);

#endif
