/* SPDX-License-Identifier: Apache-2.0 */
#include "file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "digest.h"
#include "note_id.h"

enum {
	HTLHASH_END_LEN = 4096
};

/* --- opening --------------------------------------------------------------------------------- */

/* glibc has no wrapper. O_PATH: nothing is opened yet that could wait or notice. */
static int find_below(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int find_in_root(const char *root, const char *path)
{
	_cleanup_(closep) int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root_fd < 0 ? -errno : find_below(root_fd, path);
}

/* Takes fd, of O_PATH. The same file for reading, or -errno. */
static int open_found(int fd, const struct file_key *key, bool same_dev)
{
	_cleanup_(closep) int found = fd;
	char link[32];
	struct stat st;
	int ret;

	if (found < 0)
		return found;
	if (fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((key->inode && st.st_ino != key->inode) || (same_dev && st.st_dev != key->dev))
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	ret = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return ret < 0 ? -errno : ret;
}

int file_id_open(uint32_t pid, const char *path, const struct file_key *key)
{
	char proc[64];
	int fd, rc;

	snprintf(proc, sizeof(proc), "/proc/%u/root", pid);
	rc = open_found(find_in_root(proc, path), key, false);
	/* Without an inode nothing would say that what is found elsewhere is this file. */
	if (rc >= 0 || !key->inode)
		return rc;
	/* A program that was deleted or replaced is still there as long as it runs. */
	snprintf(proc, sizeof(proc), "/proc/%u/exe", pid);
	fd = open(proc, O_PATH | O_CLOEXEC);
	fd = open_found(fd < 0 ? -errno : fd, key, false);
	if (fd < 0)
		fd = open_found(find_in_root("/", path), key, true);
	return fd >= 0 ? fd : rc;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool read_at(int fd, void *p, size_t len, uint64_t off)
{
	return pread(fd, p, len, (off_t)off) == (ssize_t)len;
}

int file_id_of(int fd, struct build_id *ret)
{
	uint8_t data[2 * HTLHASH_END_LEN + 8], sum[DIGEST_LEN];
	struct stat st;
	uint64_t len;
	size_t end_len;
	int rc = note_id_of_file(fd, ret);

	if (rc)
		return rc < 0 ? rc : 0;
	if (fstat(fd, &st))
		return -1;
	len = (uint64_t)st.st_size;
	end_len = len < HTLHASH_END_LEN ? len : HTLHASH_END_LEN;
	if (!read_at(fd, data, end_len, 0) || !read_at(fd, data + end_len, end_len, len - end_len))
		return -1;
	for (int i = 0; i < 8; i++)
		data[2 * end_len + (size_t)i] = (uint8_t)(len >> (56 - 8 * i));
	if (digest_sha256(data, 2 * end_len + 8, sum, NULL))
		return -1;
	return build_id_set(ret, BUILD_ID_HTLHASH, sum, HTLHASH_LEN, NULL);
}
