/* SPDX-License-Identifier: Apache-2.0 */
#include "file_stamp.h"

#include <sys/stat.h>

#include "log.h"

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

static void tell_open(const char *path, mode_t bits)
{
	struct stat st;

	if (!path || stat(path, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & bits))
		return;
	log_warn("%s: others may %s it (mode %04o): chmod o-rwx it", path,
		 !(st.st_mode & S_IWOTH)   ? "read"
		 : !(st.st_mode & S_IROTH) ? "change"
					   : "read and change",
		 (unsigned int)st.st_mode & 07777);
}

void file_tell_open_secret(const char *path)
{
	tell_open(path, S_IROTH | S_IWOTH);
}

void file_tell_open_to_write(const char *path)
{
	tell_open(path, S_IWOTH);
}
