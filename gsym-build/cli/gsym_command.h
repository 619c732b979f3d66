/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMMAND_H
#define RAWSTACK_GSYM_COMMAND_H
/*
 * The subcommands of rawstack-gsym-build, each in a file of its own. A command gets its own name as
 * argv[0], prints data on stdout, and fails with *err filled: ERR_USAGE when the arguments are
 * wrong. 1: --help was asked for. main() prints the error and gives the exit status.
 */
#include "err.h"

struct gsym_command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct gsym_command gsym_command_build;
extern const struct gsym_command gsym_command_info;
extern const struct gsym_command gsym_command_lookup;
extern const struct gsym_command gsym_command_verify;
extern const struct gsym_command gsym_command_bench;
extern const struct gsym_command gsym_command_export;

#endif
