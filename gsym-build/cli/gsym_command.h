/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMMAND_H
#define RAWSTACK_GSYM_COMMAND_H
/*
 * The subcommands of rawstack-gsym-build; each stands in a file of its own. A command gets its own
 * name as argv[0], parses with getopt_long(), prints data on stdout, and fails with *err filled:
 * ERR_USAGE when the arguments are wrong. main() prints the error and gives the exit status.
 */
#include "err.h"

struct gsym_command {
	const char *name;
	const char *summary;
	const char *usage; /* all of --help, as it is printed */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct gsym_command gsym_command_build;
extern const struct gsym_command gsym_command_info;
extern const struct gsym_command gsym_command_lookup;
extern const struct gsym_command gsym_command_verify;
extern const struct gsym_command gsym_command_bench;
extern const struct gsym_command gsym_command_export;

/* Explains the answer of getopt_long() to a bad option; the caller returns ERR_USAGE. */
void gsym_bad_option(const struct gsym_command *command, char **argv, int option, struct err *err);

#endif
