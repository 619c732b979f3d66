/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMMANDS_H
#define RAWSTACK_COMMANDS_H
/*
 * A program that has commands, as a table of them. From the table come the help of the program,
 * `help COMMAND`, --version, the completion in shells, and the error for a word that is no command,
 * which names the nearest one. The options of each command are its usage (options.h).
 *
 * For programs: help goes to standard output. Not for threads.
 */
#include "options.h"

/* argv[0] is the command's word. 0, a negative code, or 1 when help was asked for and is printed.
 * A negative code with an empty message: what is wrong is printed already. */
typedef int command_fn(int argc, char **argv, struct err *err);

struct command {
	const struct option_usage *usage; /* "rawstack top": the last word is the command's */
	command_fn *run;
	const char *summary; /* one line of help; NULL: known, but not shown */
};

struct command_table {
	const char *name, *version;
	const char *about, *notes; /* whole lines above and below the commands; NULL: none */
	const struct command *const *commands; /* a NULL ends them */
	const struct option_usage *usage; /* options in place of a command; NULL: there are none */
};

/* The word that runs a command. */
const char *command_name(const struct command *c);

/* Whether argv asks for one of the commands: runs it, wants its help, or completes its options. */
bool commands_know(const struct command_table *t, int argc, char **argv);

/*
 * Runs what argv[1] says, with what stands behind it. `--complete WORD...` prints what may stand
 * for the last word, as options_complete() has it. May change the words of argv.
 *
 * What the command returns; 0: help, the version or a completion is printed; ERR_USAGE: no command
 * is given, or there is none of this name; ERR_MEMORY.
 */
int commands_run(const struct command_table *t, int argc, char **argv,
		 struct err *err) _must_check_;

#endif
