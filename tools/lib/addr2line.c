/* SPDX-License-Identifier: Apache-2.0 */
#include "addr2line.h"

#include <stdio.h>
#include <string.h>

#include <libiberty/libiberty.h>

static const char name[] = "addr2line";

bool addr2line_is_name(const char *path)
{
	size_t len = strlen(path);

	return len >= sizeof(name) - 1 && strcmp(path + len - (sizeof(name) - 1), name) == 0;
}

bool addr2line_begin(int *argc, char ***argv, const char *version)
{
	static char own_name[] = "addr2line", **kept; /* as long as the program runs */

	/* Expands @FILE arguments as all binutils do: blanks separate, quotes group, and a missing
	 * file stays an argument. */
	(*argv)[0] = own_name;
	expandargv(argc, argv);
	kept = *argv;
	for (int i = 1; i < *argc && strcmp(kept[i], "--"); i++) {
		char *a = kept[i];

		if (strcmp(a, "--version") == 0 || strcmp(a, "-v") == 0 || strcmp(a, "-V") == 0) {
			printf("addr2line (rawstack) %s\n", version);
			return true;
		}
		if (strcmp(a, "-H") == 0)
			a[1] = 'h';
	}
	return false;
}
