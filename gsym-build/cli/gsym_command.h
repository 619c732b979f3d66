/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMMAND_H
#define RAWSTACK_GSYM_COMMAND_H
/*
 * The subcommands of rawstack-gsym-build, each in a file of its own. They print data on stdout;
 * main() prints the error and returns the exit status.
 */
#include "commands.h"

extern const struct command gsym_command_build, gsym_command_info, gsym_command_lookup,
	gsym_command_verify, gsym_command_bench, gsym_command_export;

#endif
