/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIR_LOCK_H
#define RAWSTACK_DIR_LOCK_H
/*
 * Who has a directory: one process at a time. There are two locks. The file "lock" in it has been
 * there since version 0.1, but whoever removes it while it is locked lets another process make and
 * lock a file of its own. So the directory itself is marked too (io.h), which no command can undo,
 * and the file is put back when it is missed. One thread at a time.
 */
#include "err.h"
#include "io.h"

#define DIR_LOCK_NAME "lock"

struct dir_lock {
	int dir_fd; /* the marked directory, by a descriptor of its own; -1: nothing is locked */
	int fd;     /* the file */
	bool was_taken; /* the last look found the file locked by somebody else */
};

#define DIR_LOCK_NONE ((struct dir_lock){.dir_fd = -1, .fd = -1})

/* How the owner of the lock opens its file and names a conflict. */
struct dir_lock_use {
	const struct io *io;
	/* Opens the file of the directory, or makes it; `dir` is for errors. */
	int (*open)(const struct io *io, const char *dir, int dir_fd, int *ret_fd, struct err *err);
	const char *taken; /* what is to be said of a directory that somebody else has */
};

/* Takes both locks of the directory that is open as dir_fd. ERR_EXISTS when another process has
 * either of them; ERR_IO, ... */
int dir_lock_take(struct dir_lock *ret, const struct dir_lock_use *use, const char *dir, int dir_fd,
		  struct err *err) _must_check_;

/*
 * Looks whether the file is still the one under its name, and makes and locks it anew if not. To be
 * called every second or two. 0; 1 when it was made anew, which *err describes; ERR_EXISTS when
 * somebody else, who knows of no mark, has locked another file of that name: the directory has two
 * owners now, and this one has to leave. err must be given.
 */
int dir_lock_check(struct dir_lock *l, const struct dir_lock_use *use, const char *dir,
		   struct err *err) _must_check_;

void dir_lock_drop(struct dir_lock *l, const struct io *io);

#endif
