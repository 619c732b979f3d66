/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMMAND_H
#define RAWSTACK_COMMAND_H
/*
 * The subcommands of `rawstack`. Each has a file cmd_<name>.c and a place in the lists of
 * program_*.c. It prints data to stdout; main() prints *err and turns its code into the exit
 * status.
 */
#include "commands.h"

extern const struct command cmd_push, cmd_ls, cmd_missing, cmd_service_status, cmd_resolve, cmd_top,
	cmd_flame, cmd_tree, cmd_peek, cmd_list, cmd_stats, cmd_diff, cmd_convert, cmd_merge,
	cmd_admin, cmd_config;

#endif
