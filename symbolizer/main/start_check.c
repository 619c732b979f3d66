/* SPDX-License-Identifier: Apache-2.0 */
#include "start_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "libexec.h"
#include "limits.h"
#include "tls_files.h"

static int check_worker(const char *path, struct err *err)
{
	char found[LIMIT_PATH_LEN];

	if (!path)
		return libexec_find("rawstack-table-worker", found, err);
	return access(path, X_OK) ? err_sys(err, errno, "--table-worker %s", path) : 0;
}

int start_check_files(const char *worker_path, const struct rpc_server_config *c, struct err *err)
{
	_cleanup_(access_closep) struct access *access = NULL;
	struct tls_texts texts = {0};
	int rc;

	TRY(check_worker(worker_path, err));
	rc = tls_texts_read(&texts, &c->tls, err);
	tls_texts_done(&texts);
	return rc ? rc : access_open(&access, &c->access, err);
}

static int check_data_dir(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : err_sys(err, errno, "--data %s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "--data %s is no directory", path);
	return access(path, W_OK | X_OK) ? err_sys(err, errno, "--data %s", path) : 0;
}

/* Checks that a file can be made beside or in place of the one at the path. */
static int check_folder(const char *path, struct err *err)
{
	char folder[LIMIT_PATH_LEN];
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return err_set(err, ERR_USAGE, "path too long");
	slash = strrchr(folder, '/');
	if (slash == folder)
		slash[1] = 0;
	else if (slash)
		*slash = 0;
	else
		snprintf(folder, sizeof(folder), ".");
	return access(folder, W_OK | X_OK) ? err_sys(err, errno, "%s", folder) : 0;
}

int start_check_surroundings(const struct start_check *c, struct err *err)
{
	TRY(listen_list_try(c->listen, err));
	TRY(check_data_dir(c->data_dir, err));
	for (size_t i = 0; i < ARRAY_LEN(c->port_files); i++)
		if (c->port_files[i])
			TRY(check_folder(c->port_files[i], err));
	return 0;
}
