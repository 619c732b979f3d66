/* SPDX-License-Identifier: Apache-2.0 */
#include "store_birth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "data_dir.h"

#define MARK "store.mdb-new"

static int open_store_dir(const char *dir, int *ret_fd, struct err *err)
{
	*ret_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(err, errno, "%s", dir) : 0;
}

/* Returns whether the store's file is missing or has no bytes. */
static bool is_empty(int dir_fd)
{
	struct stat st;

	return fstatat(dir_fd, "store.mdb", &st, 0) ? errno == ENOENT : st.st_size == 0;
}

static bool has_entry(int dir_fd, const char *name)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

int store_birth_begin(const char *dir, struct err *err)
{
	_cleanup_(closep) int dir_fd = -1, fd = -1;
	int rc = open_store_dir(dir, &dir_fd, err);

	if (rc || !is_empty(dir_fd))
		return rc;
	TRY(data_dir_open_file(dir_fd, dir, MARK, O_WRONLY | O_CREAT, &fd, err));
	if (fsync(dir_fd))
		return err_sys(err, errno, "%s", dir);
	return 0;
}

void store_birth_end(const char *dir)
{
	_cleanup_(closep) int dir_fd = -1;

	if (!open_store_dir(dir, &dir_fd, NULL))
		(void)unlinkat(dir_fd, MARK, 0);
}

int store_birth_check(const char *dir, struct err *err)
{
	/* The service makes these directories after the first commit of its store. */
	static const char *const signs[] = {"uploads", "kept"};
	_cleanup_(closep) int dir_fd = -1;
	struct stat st;
	int rc;

	/* The code that opens the store reports a missing directory, and names the store's file. */
	if (stat(dir, &st) ? errno == ENOENT : !S_ISDIR(st.st_mode))
		return 0;
	rc = open_store_dir(dir, &dir_fd, err);
	if (!rc && !has_entry(dir_fd, "store.mdb") && has_entry(dir_fd, STORE_SALVAGE_NAME))
		return err_set(err, ERR_DATA,
			       "%s: a salvage into this directory did not end: do it again, or "
			       "remove %s/%s to begin with a new store",
			       dir, dir, STORE_SALVAGE_NAME);
	if (rc || !has_entry(dir_fd, "store.mdb") || !is_empty(dir_fd) || has_entry(dir_fd, MARK))
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (has_entry(dir_fd, signs[i]))
			return err_set(err, ERR_DATA,
				       "%s/store.mdb: damaged: it is empty, and a service has run "
				       "on it (%s is there), so that `rawstack admin verify` and "
				       "`rawstack admin salvage` find nothing: restore a backup, "
				       "or remove it to begin anew",
				       dir, signs[i]);
	return 0;
}
