/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMMANDS_H
#define RAWSTACK_COMMANDS_H
/*
 * Describes the commands of a program as a table. The table gives the help of the program, `help
 * COMMAND`, --version, the completion in shells, and the error for an unknown word, which names the
 * nearest command. The options of each command are its usage (options.h).
 *
 * Only programs use it: help goes to standard output. For one thread.
 */
#include "options.h"

/* Runs a command; argv[0] is its word. Returns 0, a negative code, or 1 if help was asked for and
 * is printed. A negative code with an empty message means that the error is printed already. */
typedef int command_fn(int argc, char **argv, struct err *err);

struct command {
	const struct option_usage
		*usage; /* its name is like "rawstack top": the last word is the command's */
	command_fn *run;
	const char *summary; /* one line of help; NULL: a hidden command */
};

struct command_table {
	const char *name, *version;
	const char *about, *notes; /* whole lines above and below the commands; or NULL */
	const struct command *const *commands; /* ends in NULL */
	const struct option_usage *usage;      /* options in place of a command; or NULL */
};

/* Returns the word that runs a command. */
const char *command_name(const struct command *c);

/* Returns whether argv names one of the commands, to run it, for its help, or to complete its
 * options. */
bool commands_know(const struct command_table *t, int argc, char **argv);

/*
 * Runs the command of argv[1] with the words behind it. `--complete WORD...` prints what may stand
 * in place of the last word, as options_complete() does. May change the words of argv.
 *
 * Returns the result of the command; 0 if help, the version or a completion is printed; ERR_USAGE
 * if there is no command of this name, or none is given; or ERR_MEMORY.
 */
int commands_run(const struct command_table *t, int argc, char **argv,
		 struct err *err) _must_check_;

#endif
