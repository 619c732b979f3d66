/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are run, explained, completed, and words that are none. */
#include "commands.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stdout_end.h"

static int dug, help_wanted;

static int dig(int argc, char **argv, struct err *err)
{
	dug = argc;
	help_wanted = argc > 1 && strcmp(argv[1], "--help") == 0;
	return argc > 2 ? err_set(err, ERR_DATA, "%s: too deep", argv[0]) : 0;
}

struct options {
	bool fast;
};

static const struct option_row rows[] = {
	OPTION_FLAG(0, "fast", struct options, fast, "without looking"),
	OPTION_END,
};
static const struct option_usage dig_usage = {.name = "mole dig", .rows = rows};
static const struct option_usage rest_usage = {.name = "mole rest"};
static const struct option_usage hidden_usage = {.name = "mole digg"};
static const struct option_usage own_usage = {.name = "mole", .rows = rows, .version = "1"};
static const struct command cmd_dig = {&dig_usage, dig, "moves earth"};
static const struct command cmd_rest = {&rest_usage, dig, "does not"};
static const struct command cmd_hidden = {&hidden_usage, dig, NULL};
static const struct command *const commands[] = {&cmd_dig, &cmd_rest, &cmd_hidden, NULL};
static const struct command_table mole = {.name = "mole",
					  .version = "1.2",
					  .about = "Digs holes.",
					  .notes = "Not by day.",
					  .commands = commands};

/* The words of a command line, parted by blanks, which may be changed. */
static int run_line(const struct command_table *t, const char *line, struct err *err)
{
	static char text[256];
	char *argv[8] = {text}, *at = text;
	int argc = 1;

	assert_true(snprintf(text, sizeof(text), "%s", line) < (int)sizeof(text));
	while ((at = strchr(at, ' ')) && argc < 8) {
		*at++ = 0;
		argv[argc++] = at;
	}
	*err = (struct err){0};
	return commands_run(t, argc, argv, err);
}

/* What it prints; 0 is expected of it. */
static const char *printed(const struct command_table *t, const char *line)
{
	static char text[4096];
	FILE *f = tmpfile();
	struct err err;
	int out, rc;

	assert_non_null(f);
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	assert_true(dup2(fileno(f), STDOUT_FILENO) >= 0);
	rc = run_line(t, line, &err);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	assert_int_equal(rc, 0);
	rewind(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void words_run_their_command(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(run_line(&mole, "mole dig deep", &err), 0);
	assert_int_equal(dug, 2);
	assert_int_equal(run_line(&mole, "mole rest a b", &err), ERR_DATA);
	assert_string_equal(err.message, "rest: too deep");
	assert_int_equal(run_line(&mole, "mole digg", &err), 0);
	assert_false(help_wanted);
	assert_int_equal(run_line(&mole, "mole help dig", &err), 0);
	assert_true(help_wanted);
}

static void other_words_are_refused(void **state)
{
	static const char *const lines[][2] = {
		{"mole", "no command given (see mole --help)"},
		{"mole fly", "fly: no such command (see mole --help)"},
		{"mole dg", "dg: no such command (see mole --help); the nearest is dig"},
		{"mole idg", "idg: no such command (see mole --help); the nearest is dig"},
		{"mole re", "re: no such command (see mole --help); the nearest is rest"},
		{"mole x", "x: no such command (see mole --help)"},
		{"mole help resty",
		 "resty: no such command (see mole --help); the nearest is rest"},
		{"mole --dig", "--dig: no such command (see mole --help); the nearest is dig"},
		{"mole aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: no such command "
		 "(see mole --help)"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		assert_int_equal(run_line(&mole, lines[i][0], &err), ERR_USAGE);
		assert_string_equal(err.message, lines[i][1]);
	}
}

static void help_has_every_command(void **state)
{
	static const char help[] = "usage: mole COMMAND [ARGUMENT]...\n\nDigs holes.\n\n"
				   "  dig   moves earth\n  rest  does not\n\n"
				   "`mole COMMAND --help` explains one.\nExit status: 0 done, "
				   "1 failed, 2 usage.\nNot by day.\n";
	static const char *const lines[] = {"mole --help", "mole -h", "mole help"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_string_equal(printed(&mole, lines[i]), help);
	assert_string_equal(printed(&mole, "mole --version"), "mole 1.2\n");
}

static void words_are_completed(void **state)
{
	static const struct command_table with_options = {
		.name = "mole", .version = "1", .commands = commands, .usage = &own_usage};

	(void)state;
	assert_string_equal(printed(&mole, "mole --complete "),
			    "dig\tmoves earth\nrest\tdoes not\n--help\n--version\n");
	assert_string_equal(printed(&mole, "mole --complete"),
			    "dig\tmoves earth\nrest\tdoes not\n--help\n--version\n");
	assert_string_equal(printed(&mole, "mole --complete r"), "rest\tdoes not\n");
	assert_string_equal(printed(&mole, "mole --complete --v"), "--version\n");
	assert_string_equal(printed(&mole, "mole --complete dig --f"), "--fast\twithout looking\n");
	assert_string_equal(printed(&mole, "mole --complete fly --f"), "");
	/* Where options may stand in place of a command. */
	assert_string_equal(printed(&with_options, "mole --complete --f"),
			    "--fast\twithout looking\n");
	assert_string_equal(printed(&with_options, "mole --complete r"), "rest\tdoes not\n");
	assert_string_equal(printed(&with_options, "mole --complete --fast --v"),
			    "--version\tsays which this is\n");
	assert_non_null(strstr(printed(&with_options, "mole help"), "usage: mole\n"));
}

static void a_program_knows_its_commands(void **state)
{
	const struct {
		char *argv[5];
		int argc;
		bool is_known;
	} rows_known[] = {
		{{(char[]){"mole"}}, 1, false},
		{{(char[]){"mole"}, (char[]){"dig"}}, 2, true},
		{{(char[]){"mole"}, (char[]){"fly"}}, 2, false},
		{{(char[]){"mole"}, (char[]){"help"}}, 2, false},
		{{(char[]){"mole"}, (char[]){"help"}, (char[]){"dig"}}, 3, true},
		{{(char[]){"mole"}, (char[]){"help"}, (char[]){"fly"}}, 3, false},
		{{(char[]){"mole"}, (char[]){"--complete"}, (char[]){"dig"}}, 3, false},
		{{(char[]){"mole"}, (char[]){"--complete"}, (char[]){"dig"}, (char[]){""}},
		 4,
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows_known); i++)
		assert_int_equal(commands_know(&mole, rows_known[i].argc,
					       (char **)(uintptr_t)rows_known[i].argv),
				 rows_known[i].is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_run_their_command),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(help_has_every_command),
		cmocka_unit_test(words_are_completed),
		cmocka_unit_test(a_program_knows_its_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
