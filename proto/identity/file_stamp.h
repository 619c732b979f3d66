/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_STAMP_H
#define RAWSTACK_FILE_STAMP_H
/* Detects whether a file changed after it was read, by one stat(2). A file that is renamed over it,
 * a symbolic link that points elsewhere and bytes that are written in place all give another stamp.
 */
#include "base.h"

/* A stamp; all zero if there is no file. Only file_stamp_same() compares two. */
struct file_stamp {
	uint64_t device, inode, size;
	uint64_t modified_ns, changed_ns;
};

/* Takes the stamp. Call it before the file is read, so that the next look finds later changes.
 * NULL, or a path that leads nowhere, gives zero. */
struct file_stamp file_stamp_of(const char *path);

bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);

/* Warns in the log, in one line, if others than the owner and the group may read a secret, or write
 * to a file that decides whom to believe. NULL, or a path that leads nowhere, is nothing to tell.
 */
void file_tell_open_secret(const char *path);
void file_tell_open_to_write(const char *path);

#endif
