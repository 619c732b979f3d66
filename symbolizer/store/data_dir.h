/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DATA_DIR_H
#define RAWSTACK_DATA_DIR_H
/*
 * The data directory: who owns it, which of its files are safe to open, and which process has it
 * now. The service runs as a user of its own, and an operator often runs commands as root. Each
 * must be able to open what the other leaves there.
 */
#include "dir_lock.h"

/*
 * Makes sure that the lock file `name` exists and belongs to the owner of the directory. Only root
 * can give a file to another user; root does so here for a new file and for one with a wrong owner.
 * Returns ERR_DENIED if `name` is no regular file, or if it is missing and only the directory's
 * owner may make it. The directory may be read-only if the file exists.
 */
int data_dir_own_file(const char *dir, const char *name, struct err *err) _must_check_;

/*
 * The functions below open only a directory or a regular file that belongs to the user of the
 * process or to the owner of the data directory. They follow no symbolic link, because it may lead
 * to somebody else's file and root often starts the service. For the same reason they refuse a file
 * of another user's directory that has a second hard link. The error is ERR_DENIED, with one line
 * that says what is there instead. They skip the check of the owner where only the user of the
 * process can have put the file: in a directory of its own that no group may write to.
 */

/* Opens the directory `name` inside the data directory, and makes it first if it does not exist. */
int data_dir_open_part(int data_fd, const char *name, int *ret_fd, struct err *err) _must_check_;

/* Opens the regular file `name` in dir_fd, which is the data directory or one of its parts. flags
 * are those of open(2); O_CREAT makes the file readable and writable for its owner alone. Errors
 * begin with `where`. Returns ERR_NOT_FOUND if there is no such file. */
int data_dir_open_file(int dir_fd, const char *where, const char *name, int flags, int *ret_fd,
		       struct err *err) _must_check_;

/* Returns whether `fd`, an open part of the data directory, still has its name there. Files made in
 * a directory that lost its name are lost with it. */
bool data_dir_has_part(int data_fd, const char *name, int fd);

/* Takes the lock of the data directory. The service holds it as long as it runs; an operator's
 * command holds it while no service runs. Returns ERR_EXISTS if another process holds it. */
int data_dir_lock(const char *dir, int dir_fd, struct dir_lock *ret, struct err *err) _must_check_;
void data_dir_unlock(struct dir_lock *l);

/* Calls dir_lock_check() for a lock that data_dir_lock() took. */
int data_dir_check_lock(const char *dir, struct dir_lock *l, struct err *err) _must_check_;

/* Checks that the file is safe for a library that opens it by its path. A missing file is safe,
 * too. */
int data_dir_check_file(const char *dir, const char *name, struct err *err) _must_check_;

#endif
