/* SPDX-License-Identifier: Apache-2.0 */
#include "libexec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int libexec_find(const char *name, char path[static LIMIT_PATH_LEN], struct err *err)
{
	static const char *const places[] = {
		"",
		"../" RAWSTACK_LIBEXECDIR_RELATIVE "/rawstack/",
		RAWSTACK_LIBEXECDIR "/rawstack/",
	};
	char self[LIMIT_PATH_LEN];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		int dir_len = slash && *places[i] != '/' ? (int)(slash + 1 - self) : 0;

		if (snprintf(path, LIMIT_PATH_LEN, "%.*s%s%s", dir_len, self, places[i], name) <
			    (int)LIMIT_PATH_LEN &&
		    *path == '/' && access(path, X_OK) == 0)
			return 0;
	}
	return err_set(err, ERR_NOT_FOUND, "%s: neither beside this program nor in %s/rawstack",
		       name, RAWSTACK_LIBEXECDIR);
}
