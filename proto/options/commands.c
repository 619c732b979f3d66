/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <string.h>

#include "limits.h"
#include "options_priv.h"
#include "stdout_end.h"

/* The most names that an error may propose. */
#define COMMANDS_MAX 50

static char help_word[] = "--help";

const char *command_name(const struct command *c)
{
	const char *blank = strrchr(c->usage->name, ' ');

	return blank ? blank + 1 : c->usage->name;
}

static const struct command *command_by_word(const struct command_table *t, const char *word)
{
	for (const struct command *const *c = t->commands; *c; c++)
		if (strcmp(word, command_name(*c)) == 0)
			return *c;
	return NULL;
}

static bool is_help(const char *word)
{
	return strcmp(word, help_word) == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

bool commands_know(const struct command_table *t, int argc, char **argv)
{
	if (argc < 2)
		return false;
	if ((argc == 3 && strcmp(argv[1], "help") == 0) ||
	    (argc > 3 && strcmp(argv[1], "--complete") == 0))
		return command_by_word(t, argv[2]);
	return command_by_word(t, argv[1]);
}

static int refuse_word(const struct command_table *t, const char *word, struct err *err)
{
	const char *names[COMMANDS_MAX], *nearest;
	size_t count = 0;

	for (const struct command *const *c = t->commands; *c && count < COMMANDS_MAX; c++)
		if ((*c)->summary)
			names[count++] = command_name(*c);
	nearest = option_nearest(word, names, count);
	return err_set(err, ERR_USAGE, "%.*s: no such command (see %s --help)%s%s",
		       OPTIONS_SHOWN_MAX, word, t->name, nearest ? "; the nearest is " : "",
		       nearest ? nearest : "");
}

static void put_commands_help(const struct command_table *t, struct buf *out)
{
	size_t width = 0;

	for (const struct command *const *c = t->commands; *c; c++)
		if ((*c)->summary && strlen(command_name(*c)) > width)
			width = strlen(command_name(*c));
	buf_printf(out, "usage: %s COMMAND [ARGUMENT]...\n\n", t->name);
	if (t->about)
		buf_printf(out, "%s\n\n", t->about);
	for (const struct command *const *c = t->commands; *c; c++)
		if ((*c)->summary)
			buf_printf(out, "  %-*s  %s\n", (int)width, command_name(*c),
				   (*c)->summary);
	buf_printf(out,
		   "\n`%s COMMAND --help` explains one.\nExit status: 0 done, 1 failed, 2 usage.\n",
		   t->name);
	if (t->notes)
		buf_printf(out, "%s\n", t->notes);
}

/* Appends the completions. `words` are those behind the program's name. */
static void put_completed(const struct command_table *t, char **words, size_t count,
			  struct buf *out)
{
	static const char *const own[] = {help_word, "--version"};
	const struct command *command = count > 1 ? command_by_word(t, words[0]) : NULL;
	const char *begin = count ? words[0] : "";

	if (command)
		options_complete(command->usage, words + 1, count - 1, out);
	else if (t->usage && (count > 1 || begin[0] == '-'))
		options_complete(t->usage, words, count, out);
	if (count > 1)
		return;
	for (const struct command *const *c = t->commands; *c; c++)
		if ((*c)->summary && strncmp(command_name(*c), begin, strlen(begin)) == 0)
			buf_printf(out, "%s\t%s\n", command_name(*c), (*c)->summary);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!t->usage && strncmp(own[i], begin, strlen(begin)) == 0)
			buf_printf(out, "%s\n", own[i]);
}

int commands_run(const struct command_table *t, int argc, char **argv, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	const struct command *c;

	if (argc < 2)
		return err_set(err, ERR_USAGE, "no command given (see %s --help)", t->name);
	if (argc == 3 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-') {
		argv[1] = argv[2];
		argv[2] = help_word;
	}
	c = command_by_word(t, argv[1]);
	if (c)
		return c->run(argc - 1, argv + 1, err);
	if (is_help(argv[1]) && t->usage)
		options_help(t->usage, &out);
	else if (is_help(argv[1]))
		put_commands_help(t, &out);
	else if (strcmp(argv[1], "--version") == 0)
		buf_printf(&out, "%s %s\n", t->name, t->version);
	else if (strcmp(argv[1], "--complete") == 0)
		put_completed(t, argv + 2, (size_t)argc - 2, &out);
	else
		return refuse_word(t, argv[1], err);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 0;
}
