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

static void print_rawstack_help(void)
{
	printf("usage: rawstack COMMAND [OPTIONS]\n\n");
	for (const struct command *const *c = program_commands; *c; c++)
		printf("  %-9s %s\n", command_name(*c), (*c)->summary);
	printf("\n`rawstack COMMAND --help` explains one. Exit status: 0 done, 1 failed, 2 usage.\n"
	       "The service is --server HOST:PORT, else $RAWSTACK_SERVER, else 127.0.0.1:7077.\n");
}

static const struct command *command_by_word(const char *word)
{
	for (const struct command *const *c = program_commands; *c; c++)
		if (strcmp(word, command_name(*c)) == 0)
			return *c;
	return NULL;
}

static void complete_command(const char *begin, struct buf *out)
{
	static const char *const own[] = {"--help", "--version"};

	for (const struct command *const *c = program_commands; *c; c++)
		if (strncmp(command_name(*c), begin, strlen(begin)) == 0)
			buf_printf(out, "%s\t%s\n", command_name(*c), (*c)->summary);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strncmp(own[i], begin, strlen(begin)) == 0)
			buf_printf(out, "%s\n", own[i]);
}

/* For completions/: `rawstack --complete WORD...` prints what may stand for the last word, as
 * options_complete() has it. */
static int complete_words(int argc, char **argv, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	const struct command *c = argc > 3 ? command_by_word(argv[2]) : NULL;

	if (!c && !program_resolve_service)
		return program_other(err);
	if (c)
		options_complete(c->usage, argv + 3, (size_t)argc - 3, &out);
	else if (argc <= 3)
		complete_command(argc == 3 ? argv[2] : "", &out);
	stdout_put(&out);
	return 0;
}

static int run_rawstack_program(int argc, char **argv, struct err *err)
{
	const struct command *c;

	if (argc < 1 || (argc < 2 && !addr2line_is_name(argv[0])))
		return err_set(err, ERR_USAGE, "no command given (see rawstack --help)");
	if (addr2line_is_name(argv[0]))
		return addr2line_begin(&argc, &argv, RAWSTACK_VERSION)
			       ? 0
			       : cmd_resolve.run(argc, argv, err);
	/* `help top` is `top --help` */
	if (argc == 3 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-') {
		static char help[] = "--help";

		argv[1] = argv[2];
		argv[2] = help;
	}
	if (program_resolve_service &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	     strcmp(argv[1], "help") == 0)) {
		print_rawstack_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("rawstack %s\n", RAWSTACK_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--complete") == 0)
		return complete_words(argc, argv, err);
	c = command_by_word(argv[1]);
	if (c)
		return c->run(argc - 1, argv + 1, err);
	return program_other(err);
}

/* What to do where that is the same for all commands. */
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
	program_init(argv);
	signal(SIGPIPE, SIG_IGN);
	rc = run_rawstack_program(argc, argv, &err);
	if (rc)
		advise_on_error(&err);
	/* What a file made for it would take of the machine. */
	demangle_budget_tell();
	/* Of an option whose file cannot be read the error says more than the return value. */
	return stdout_end(rc ? err.code : 0, &err);
}
