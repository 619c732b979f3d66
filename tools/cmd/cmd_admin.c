/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack admin`: executes rawstack-symbolizer, which owns the data directory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "limits.h"

#define PROGRAM "rawstack-symbolizer"

struct admin_options {
	const char *data;
};

static const struct option_row rows[] = {
	OPTION_TEXT(0, "data", "DIR", struct admin_options, data,
		    "the data directory of the service"),
	OPTION_END,
};

static const char *const words[] = {"backup", "compact", "verify", "salvage", NULL};

static const struct option_usage usage = {
	.name = "rawstack admin",
	.synopsis = "backup --data DIR OUT\n"
		    "compact --data DIR\n"
		    "verify --data DIR\n"
		    "salvage --data DIR OUT",
	.about = "Looks after the data directory of a service on this machine; it runs " PROGRAM
		 ".\n"
		 "\n"
		 "  backup   copy the store, compacted, to OUT/store.mdb, also while the service\n"
		 "           runs; a service can start from OUT\n"
		 "  compact  return unused space of the store to the disk; the service must be\n"
		 "           stopped\n"
		 "  verify   read every table and report damaged ones, also while the service\n"
		 "           runs; exit status 1 if there are any\n"
		 "  salvage  copy what is intact of a damaged store into the new data directory\n"
		 "           OUT, and report what is lost; the service must be stopped",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 2,
	.operands_wanted = "backup, compact, verify or salvage?",
	.operand_words = words,
};

/* Executes the program beside this one, or else the one in $PATH. Returns only an error. */
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
	static char name[] = PROGRAM, data[] = "--data";
	struct admin_options o = {0};
	struct operands operands;
	char *arguments[6] = {name}; /* at most five words, and the NULL that ends them */
	size_t count = 1;
	struct err ignored;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	if (options_word("", operands.list[0], words, &ignored) < 0)
		return options_refuse(&usage, err, "%s", usage.operands_wanted);
	arguments[count++] = operands.list[0];
	if (o.data) {
		arguments[count++] = data;
		arguments[count++] = (char *)(uintptr_t)o.data;
	}
	if (operands.count > 1)
		arguments[count++] = operands.list[1];
	return run_symbolizer(arguments, err);
}

const struct command cmd_admin = {&usage, run_admin,
				  "back up, compact, verify or salvage a service's data"};
