/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DATA_DIR_H
#define RAWSTACK_DATA_DIR_H
/*
 * The data directory as a place with an owner. The service looks after it as a user of its own, an
 * operator often as root: what either leaves there the other has to be able to open.
 */
#include "dir_lock.h"

/*
 * Sees to it that a lock file of this name is there and belongs to whom the directory belongs, if
 * another user (root) asks. A file that is there with another owner is given to that one. Nothing
 * is followed that is no regular file: ERR_DENIED, also when the file is missing and only its owner
 * may make it. The directory may be read only, if the file is there.
 */
int data_dir_own_file(const char *dir, const char *name, struct err *err) _must_check_;

/*
 * What is opened in the data directory is ours: a directory or a regular file that belongs to the
 * process's user or to the owner of the data directory. No symbolic link is followed, for it may
 * lead to what is somebody else's, and who starts the service is often root. A second name of a
 * file that another user's directory has is refused for the same reason. ERR_DENIED with one line
 * that says what is there instead. The owner of a file is not looked at where only this process's
 * user can have put it: a directory of its own to which no group may write.
 */

/* A directory of this name, made if it is not there. */
int data_dir_open_part(int data_fd, const char *name, int *ret_fd, struct err *err) _must_check_;

/* A regular file of the directory `dir_fd`, which is the data directory or one of its parts. flags
 * are those of open(2); with O_CREAT it is made for its owner alone. `where` goes before the name
 * in errors. ERR_NOT_FOUND. */
int data_dir_open_file(int dir_fd, const char *where, const char *name, int flags, int *ret_fd,
		       struct err *err) _must_check_;

/* Whether a directory of it that is open is still there by its name. What is made in one that is
 * not is lost with it. */
bool data_dir_has_part(int data_fd, const char *name, int fd);

/* Takes the lock of the data directory. The service holds it as long as it runs, an operator's
 * command while no service does. ERR_EXISTS: somebody else holds it. */
int data_dir_lock(const char *dir, int dir_fd, struct dir_lock *ret, struct err *err) _must_check_;
void data_dir_unlock(struct dir_lock *l);

/* Calls dir_lock_check() for a lock that data_dir_lock() took. */
int data_dir_check_lock(const char *dir, struct dir_lock *l, struct err *err) _must_check_;

/* Checks that a file which a library opens by its path is safe to open. A missing file is safe,
 * too. */
int data_dir_check_file(const char *dir, const char *name, struct err *err) _must_check_;

#endif
