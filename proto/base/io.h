/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IO_H
#define RAWSTACK_IO_H
/*
 * The operating system as the durable parts see it: files, two clocks, random bytes. Code that
 * must survive a crash (the spool, sinks) does its file work through a struct io, so that a test
 * can record each call, fail the Nth, stop the clock, or replay a power cut. io_system() is the
 * real one. Calls return 0 or more, or -errno; none retries but for EINTR.
 *
 * A struct io and its context must outlive whoever uses it; io_system() is safe from any thread.
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
	int (*exists)(void *ctx, int dir_fd, const char *path); /* 1; 0: nothing is there */
	int (*make_dir)(void *ctx, int dir_fd, const char *path, mode_t mode);
	/* Calls each() with every name in the directory but "." and "..", in no order. */
	int (*list)(void *ctx, int dir_fd, void (*each)(void *arg, const char *name), void *arg);
	/* Takes the advisory lock of the open file, which ends with its descriptor; -EWOULDBLOCK
	 * when somebody else has it. Never waits. */
	int (*lock)(void *ctx, int fd);
	/* Marks an open directory as used by one process, until its descriptor is closed; the mark
	 * is the kernel's and stands in no file, so that nobody can remove it. -EWOULDBLOCK when
	 * another descriptor has marked it. It is another lock than lock(). Never waits. */
	int (*mark)(void *ctx, int dir_fd);
	int (*is_marked)(void *ctx, int dir_fd); /* 1: by another descriptor; 0 */
	/* Returns whether the path leads to what is open as fd: 1; 0: to something else, or
	 * nowhere. */
	int (*is_at)(void *ctx, int fd, int dir_fd, const char *path);
	uint64_t (*free_bytes)(void *ctx,
			       int dir_fd); /* of the file system, for unprivileged use */
	uint64_t (*mono_ns)(void *ctx);     /* CLOCK_MONOTONIC */
	uint64_t (*real_ns)(void *ctx);     /* CLOCK_REALTIME, since 1970 */
	void (*random)(void *ctx, void *p, size_t len);
};

const struct io *io_system(void);

/* CLOCK_MONOTONIC of the real system. */
static inline uint64_t io_mono_ns(void)
{
	return io_system()->mono_ns(NULL);
}

/* Whole-buffer helpers over any struct io; a short transfer is an error. */
int io_write_all(const struct io *io, int fd, const void *p, size_t len, off_t off,
		 struct err *err);
int io_read_all(const struct io *io, int fd, void *p, size_t len, off_t off, struct err *err);

/*
 * Writes a whole file so that a crash leaves the old one, the new one or none, never a part: a
 * temporary name in the same directory, sync, rename, sync of the directory. Mode 0600.
 */
int io_replace_file(const struct io *io, int dir_fd, const char *name, const void *p, size_t len,
		    struct err *err);

/* Returns whether a file may take the place of what is at path: nothing, or a regular file. A
 * device that is renamed over is gone for everyone. ERR_UNSUPPORTED. */
int io_check_output(const char *path, struct err *err) _must_check_;

/* A directory that everybody may write to holds what anybody put there: ERR_DENIED, also with the
 * sticky bit, which keeps others from removing and not from adding. A group is the operator's
 * choice. `path` is for the error. */
int io_check_writers(int dir_fd, const char *path, struct err *err) _must_check_;

/* The same by path; what is not there yet is well. */
int io_check_dir(const char *path, struct err *err) _must_check_;

/* io_replace_file() by path, with any mode, on the real system; for files that others read. */
int io_write_file(const char *path, const void *p, size_t len, mode_t mode, struct err *err);

/*
 * Reads a whole regular file of at most max bytes into fresh memory (*ret_p, freed by the caller,
 * with a NUL behind it). ERR_LIMIT when it is larger. Works on /proc files, whose size is 0.
 */
int io_read_file(const char *path, size_t max, uint8_t **ret_p, size_t *ret_len, struct err *err);

/* The first 16 bytes that stand in a file as hex digits, as in IO_BOOT_ID; false, and zero bytes,
 * when there are none. */
#define IO_BOOT_ID "/proc/sys/kernel/random/boot_id"
bool io_read_id(const char *path, uint8_t id[static 16]);

#endif
