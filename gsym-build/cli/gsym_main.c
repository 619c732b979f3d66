/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build makes lookup tables of debug binaries, and looks up addresses in them. */
#include <stdio.h>
#include <string.h>

#include "demangle_budget.h"
#include "gsym_command.h"
#include "log.h"
#include "stdout_end.h"

static const struct gsym_command *const commands[] = {
	&gsym_command_build,  &gsym_command_info,   &gsym_command_lookup,
	&gsym_command_verify, &gsym_command_export, &gsym_command_bench,
};

static void print_gsym_help(void)
{
	printf("Usage: rawstack-gsym-build COMMAND ...\n\n"
	       "Turns a binary with debug information into a lookup table, and reads tables.\n\n"
	       "Commands:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n'rawstack-gsym-build COMMAND --help' explains a command.\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

static int run_gsym_program(int argc, char **argv, struct err *err)
{
	if (argc < 2)
		return err_set(err, ERR_USAGE, "no command; see --help");
	if (strcmp(argv[1], "--help") == 0) {
		print_gsym_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("rawstack-gsym-build " RAWSTACK_VERSION);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return commands[i]->run(argc - 1, argv + 1, err);
	return err_set(err, ERR_USAGE, "unknown command '%s'; see --help", argv[1]);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int rc;

	log_init("rawstack-gsym-build");
	rc = run_gsym_program(argc, argv, &err);
	demangle_budget_tell();
	return stdout_end(rc, &err);
}
