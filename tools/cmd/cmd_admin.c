/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack admin: what is done to a data directory, by the program that owns it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "limits.h"

#define PROGRAM "rawstack-symbolizer"

static const char help[] =
	"usage: rawstack admin backup --data DIR OUT\n"
	"       rawstack admin compact --data DIR\n"
	"       rawstack admin verify --data DIR\n"
	"       rawstack admin salvage --data DIR OUT\n"
	"\n"
	"Looks after the data directory of a service on this machine; " PROGRAM " does it.\n"
	"\n"
	"  backup   copies the store, compacted, to OUT/store.mdb, also while the service runs;\n"
	"           a service can be started on OUT\n"
	"  compact  gives space that the store does not use back to the disk; the service must\n"
	"           be stopped\n"
	"  verify   reads every table and says which are damaged, also while the service runs;\n"
	"           exit status 1 if any is\n"
	"  salvage  copies what is intact of a damaged store into the data directory OUT, which\n"
	"           is made; says what is lost; the service must be stopped\n"
	"\n"
	"  --data DIR  the directory that the service was given\n";

/* The program beside this one, else the one in $PATH. */
static int run_symbolizer(char **argv, struct err *err)
{
	char path[LIMIT_PATH_LEN];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM) - 1);
	char *slash;

	if (len > 0) {
		path[len] = 0;
		slash = strrchr(path, '/');
		if (slash) {
			memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
			execv(path, argv);
		}
	}
	execvp(PROGRAM, argv);
	return err_sys(err, errno, PROGRAM);
}

static int run_admin(int argc, char **argv, struct err *err)
{
	static const char *const words[] = {"backup", "compact", "verify", "salvage"};
	static char name[] = PROGRAM;

	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(words); i++)
		if (!strcmp(argv[1], words[i])) {
			argv[0] = name;
			return run_symbolizer(argv, err);
		}
	return command_usage(&cmd_admin, "backup, compact, verify or salvage?", err);
}

const struct command cmd_admin = {"admin", run_admin,
				  "back up, compact, verify or salvage a service's data", help};
