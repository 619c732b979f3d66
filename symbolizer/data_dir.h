/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DATA_DIR_H
#define RAWSTACK_DATA_DIR_H
/*
 * The data directory as a place with an owner. The service looks after it as a user of its own, an
 * operator often as root: what either leaves there the other has to be able to open.
 */
#include "err.h"

/*
 * Sees to it that a lock file of this name is there and belongs to whom the directory belongs, if
 * another user (root) asks. A file that is there with another owner is given to that one. Nothing
 * is followed that is no regular file: ERR_DENIED, also when the file is missing and only its owner
 * may make it. The directory may be read only, if the file is there.
 */
int data_dir_own_file(const char *dir, const char *name, struct err *err) _must_check_;

#endif
