/* SPDX-License-Identifier: Apache-2.0 */
#include "file_stamp.h"

#include <sys/stat.h>

static uint64_t time_as_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

struct file_stamp file_stamp_of(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st))
		return (struct file_stamp){0};
	return (struct file_stamp){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.modified_ns = time_as_ns(st.st_mtim),
		.changed_ns = time_as_ns(st.st_ctim),
	};
}

bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}
