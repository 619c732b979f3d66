/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMMAND_H
#define RAWSTACK_COMMAND_H
/*
 * A subcommand of `rawstack`: one cmd_<name>.c each, listed in rawstack.c. Data goes to stdout;
 * main() prints what *err says and turns its code into the exit status.
 */
#include <getopt.h>

#include "err.h"

/* argv[0] is the subcommand's name. Returns 0 or a negative err code. */
typedef int command_fn(int argc, char **argv, struct err *err);

struct command {
	const char *name;
	command_fn *run;
	const char *summary;
	const char *help; /* usage and options, ends in a newline */
};

extern const struct command cmd_push, cmd_ls, cmd_missing, cmd_resolve, cmd_top, cmd_flame,
	cmd_tree, cmd_peek, cmd_list, cmd_stats, cmd_diff, cmd_convert, cmd_merge, cmd_admin;

/* The next option as getopt_long() gives it, or -1 after the last. For an unknown or incomplete
 * one '?', with *err set to ERR_USAGE. */
int command_option(int argc, char **argv, const char *short_options, const struct option *options,
		   struct err *err);

/* A whole decimal number of an option, min to max; ERR_USAGE names the option otherwise. */
int command_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		   struct err *err);

/* ERR_USAGE with a hint at --help. */
int command_usage(const struct command *c, const char *what, struct err *err);

#endif
