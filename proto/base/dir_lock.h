/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIR_LOCK_H
#define RAWSTACK_DIR_LOCK_H
/*
 * Gives a directory to one process at a time, by two locks. Version 0.1 locked the file "lock" in
 * it, but if that file is removed while it is locked, another process can make and lock a new one.
 * So the directory itself is marked too (io.h), which no command can undo, and a removed file is
 * made again. For one thread at a time.
 */
#include "err.h"
#include "io.h"

#define DIR_LOCK_NAME "lock"

struct dir_lock {
	int dir_fd;     /* own descriptor of the marked directory; -1: nothing is locked */
	int fd;         /* the locked file */
	bool was_taken; /* the last check found the file locked by another process */
};

#define DIR_LOCK_NONE ((struct dir_lock){.dir_fd = -1, .fd = -1})

/* The functions by which the owner of the lock opens its file and names a conflict. */
struct dir_lock_use {
	const struct io *io;
	/* Opens the file of the directory, or makes it; `dir` is for errors. */
	int (*open)(const struct io *io, const char *dir, int dir_fd, int *ret_fd, struct err *err);
	const char *taken; /* the message if another process has the directory */
};

/* Takes both locks of the directory that is open as dir_fd. Returns ERR_EXISTS if another process
 * has either of them, or an error of the system. */
int dir_lock_take(struct dir_lock *ret, const struct dir_lock_use *use, const char *dir, int dir_fd,
		  struct err *err) _must_check_;

/*
 * Checks that the lock file still has its name, and if not makes and locks a new one. Call it every
 * second or two. Returns 0; 1 if the file was made anew, which *err describes; or ERR_EXISTS if
 * another process, which knows of no mark, has locked a new file of that name. Then the directory
 * has two owners and this one has to leave. err must not be NULL.
 */
int dir_lock_check(struct dir_lock *l, const struct dir_lock_use *use, const char *dir,
		   struct err *err) _must_check_;

void dir_lock_drop(struct dir_lock *l, const struct io *io);

#endif
