/* SPDX-License-Identifier: Apache-2.0 */
#include "libexec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INSTALLED RAWSTACK_LIBEXECDIR_RELATIVE "/rawstack/"

int libexec_find(const char *name, char path[static LIMIT_PATH_LEN], struct err *err)
{
	static const char *const places[] = {"", INSTALLED};
	char self[LIMIT_PATH_LEN];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	if (!slash)
		return err_set(
			err, ERR_NOT_FOUND,
			"%s: cannot find this program's directory: /proc/self/exe is not readable",
			name);
	slash[1] = 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (snprintf(path, LIMIT_PATH_LEN, "%s%s%s", self, places[i], name) <
			    (int)LIMIT_PATH_LEN &&
		    access(path, X_OK) == 0)
			return 0;
	return err_set(err, ERR_NOT_FOUND, "%s: neither beside this program nor in %s" INSTALLED,
		       name, self);
}
