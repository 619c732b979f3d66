/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMMAND_H
#define RAWSTACK_COMMAND_H
/*
 * A subcommand of `rawstack`: one cmd_<name>.c each, listed in rawstack.c. Data goes to stdout;
 * main() prints what *err says and turns its code into the exit status.
 */
#include "options.h"

/* How the usages of commands are named. */
#define COMMAND_PREFIX "rawstack "

/* argv[0] is the subcommand's name. Returns 0 or a negative err code; 1 when help was asked for. */
typedef int command_fn(int argc, char **argv, struct err *err);

struct command {
	const struct option_usage *usage;
	command_fn *run;
	const char *summary;
};

extern const struct command cmd_push, cmd_ls, cmd_missing, cmd_resolve, cmd_top, cmd_flame,
	cmd_tree, cmd_peek, cmd_list, cmd_stats, cmd_diff, cmd_convert, cmd_merge, cmd_admin;

static inline const char *command_name(const struct command *c)
{
	return c->usage->name + sizeof(COMMAND_PREFIX) - 1;
}

#endif
