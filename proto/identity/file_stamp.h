/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_STAMP_H
#define RAWSTACK_FILE_STAMP_H
/* Whether a file that was read is still the same: one stat(2). A file that is renamed over it, a
 * link that leads elsewhere and bytes that are written in place all give another stamp. */
#include "base.h"

/* All zero where no file is. Compared by file_stamp_same() only. */
struct file_stamp {
	uint64_t device, inode, size;
	uint64_t modified_ns, changed_ns;
};

/* Taken before the file is read, so that what changes meanwhile is found by the next look. NULL or
 * a path that leads nowhere: zero. */
struct file_stamp file_stamp_of(const char *path);

bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b);

#endif
