/* SPDX-License-Identifier: Apache-2.0 */
#include "file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file_notes.h"
#include "file_open.h"
#include "htlhash.h"

/* --- opening --------------------------------------------------------------------------------- */

/* Takes fd, an O_PATH descriptor. Returns one of the same file for reading, or -errno. */
static int open_found(int fd, const struct file_key *key, bool same_dev)
{
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    ((key->inode && st.st_ino != key->inode) || (same_dev && st.st_dev != key->dev))) {
		close(fd);
		return -ESTALE;
	}
	return file_reopen(fd);
}

static int open_program(uint32_t pid, const struct file_key *key)
{
	char proc[64];
	int fd;

	snprintf(proc, sizeof(proc), "/proc/%u/exe", pid);
	fd = open(proc, O_PATH | O_CLOEXEC);
	return open_found(fd < 0 ? -errno : fd, key, false);
}

int file_id_open_any(uint32_t pid, const char *path, bool is_program)
{
	const struct file_key any = {.inode = 0};
	int fd = is_program ? open_program(pid, &any) : -ENOENT;
	char proc[64];

	snprintf(proc, sizeof(proc), "/proc/%u/root", pid);
	if (fd < 0)
		fd = open_found(file_find_in_root(proc, path, 0), &any, false);
	if (fd < 0)
		fd = open_found(file_find_in_root("/", path, 0), &any, false);
	return fd;
}

int file_id_open(uint32_t pid, const char *path, const struct file_key *key)
{
	char proc[64];
	int fd, rc;

	snprintf(proc, sizeof(proc), "/proc/%u/root", pid);
	rc = open_found(file_find_in_root(proc, path, 0), key, false);
	/* Only the inode can tell that a file found elsewhere is this one. */
	if (rc >= 0 || !key->inode)
		return rc;
	/* A program that was deleted or replaced is still there as long as it runs. */
	fd = open_program(pid, key);
	if (fd < 0)
		fd = open_found(file_find_in_root("/", path, 0), key, true);
	return fd >= 0 ? fd : rc;
}

/* --- reading --------------------------------------------------------------------------------- */

int file_id_of(int fd, struct build_id *ret)
{
	struct stat st;
	int rc = file_notes_of_file(fd, ret);

	if (rc)
		return rc < 0 ? rc : 0;
	if (fstat(fd, &st) || htlhash_of_file(fd, (uint64_t)st.st_size, ret, NULL))
		return -1;
	return 0;
}
