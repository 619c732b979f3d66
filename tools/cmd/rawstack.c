/* SPDX-License-Identifier: Apache-2.0 */
/* The program `rawstack`, and its other half `rawstack-remote` (program.h): what engineers and
 * build pipelines use. Subcommands are in cmd_*.c. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "addr2line.h"
#include "command.h"
#include "demangle_budget.h"
#include "log.h"
#include "program.h"
#include "stdout_end.h"

#ifndef RAWSTACK_VERSION
#define RAWSTACK_VERSION "unknown"
#endif

char **program_arguments;

static int run_rawstack_program(int argc, char **argv, struct err *err)
{
	const struct command_table table = {
		.name = "rawstack",
		.version = RAWSTACK_VERSION,
		.notes = "The service is --server HOST:PORT, else $RAWSTACK_SERVER, else that of "
			 "~/.config/rawstack/rawstack.conf, else 127.0.0.1:7077; with --ca FILE, "
			 "or $RAWSTACK_CA, over TLS. `rawstack config` shows all that.",
		.commands = program_commands,
	};

	if (argc >= 1 && addr2line_is_name(argv[0]))
		return addr2line_begin(&argc, &argv, RAWSTACK_VERSION)
			       ? 0
			       : cmd_resolve.run(argc, argv, err);
	if (program_other && argc >= 2 && !commands_know(&table, argc, argv) &&
	    strcmp(argv[1], "--version") != 0)
		return program_other(err);
	return commands_run(&table, argc, argv, err);
}

/* Adds advice that is the same for all commands. */
static void advise_on_error(struct err *err)
{
	char message[ERR_MESSAGE_MAX];

	if (err->code != ERR_UNAVAILABLE || (!strstr(err->message, ": cannot connect: ") &&
					     !strstr(err->message, ": cannot resolve ")))
		return;
	snprintf(message, sizeof(message), "%s", err->message);
	err_set(err, ERR_UNAVAILABLE,
		"%s (is the service there? --server or $RAWSTACK_SERVER says where)", message);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int rc;

	log_init("rawstack");
	program_arguments = argv;
	signal(SIGPIPE, SIG_IGN);
	rc = run_rawstack_program(argc, argv, &err);
	if (rc)
		advise_on_error(&err);
	/* Reports names that were left as they are because they would have cost too much. */
	demangle_budget_tell();
	/* When the file of an option cannot be read, the error says more than the return value. */
	return stdout_end(rc ? err.code : 0, &err);
}
