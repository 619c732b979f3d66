/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that are read, refused, explained and completed. */
#include "options.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct inner {
	const char *server;
	uint64_t age_ns;
};

struct all {
	bool fast, with_children;
	uint32_t depth;
	uint64_t bytes;
	enum {
		PLAIN,
		JSON,
		XML
	} form;
	const char *where;
	const char *files[2];
	size_t file_count;
	int calls;
	char last[32];
	struct inner inner;
};

static int set_call(void *at, const char *option, const char *argument, struct err *err)
{
	struct all *a = at;

	a->calls++;
	snprintf(a->last, sizeof(a->last), "%s=%s", option, argument ? argument : "nothing");
	return argument && strcmp(argument, "bad") == 0
		       ? err_set(err, ERR_NOT_FOUND, "%s %s: not there", option, argument)
		       : 0;
}

static const char *const forms[] = {"plain", "json", "xml", NULL};
static const char *const hints[] = {"auto", "always", NULL};

static const struct option_row inner_rows[] = {
	OPTION_HEADING("From where:"),
	OPTION_TEXT(0, "server", "HOST:PORT", struct inner, server, "the service"),
	OPTION_NUMBER(0, "age", "SECONDS", struct inner, age_ns, 0, 3600, 1000000000,
		      "older ones go; this text is long enough to be broken into a second line, "
		      "at a blank\nand here"),
	OPTION_END,
};

static const struct option_row rows[] = {
	OPTION_FLAG('f', "fast", struct all, fast, "without looking, at all"),
	OPTION_SET(0, "no-children", struct all, with_children, false, "alone"),
	OPTION_NUMBER('n', "depth", "N", struct all, depth, 1, 100, 1, "how deep"),
	OPTION_BYTES(0, "bytes", "N", struct all, bytes, 1, UINT64_C(1) << 46, "how much"),
	OPTION_WORD(0, "form", "FORM", struct all, form, forms, "plain, json or xml"),
	OPTION_SET(0, "json", struct all, form, JSON, "the same as --form json"),
	OPTION_TEXT('w', "where", "DIR", struct all, where, "the field"),
	OPTION_LIST('e', NULL, "FILE", struct all, files, file_count, 2, "a file"),
	OPTION_CALL(0, "call", "WHEN", set_call, "calls", .words = hints),
	OPTION_CALL('C', "maybe", "HOW", set_call, NULL, .is_optional = true),
	OPTION_CALL(0, "pid", "PID", set_call, "a name that is longer than others stays alone"),
	OPTION_TEXT(0, "a-name-that-is-very-long", "ARGUMENT", struct all, where, "the same"),
	OPTION_IGNORE('r', "recurse", NULL),
	OPTION_ROWS(struct all, inner, inner_rows),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "mole dig",
	.synopsis = "[OPTION]... FIELD...\n--all",
	.about = "Digs. This sentence goes on until it does not fit into one line, and is broken "
		 "where it fits.\n\n  field   what it is\n  other   another",
	.notes = "Exit status: 0.",
	.rows = rows,
	.operands_min = 1,
	.operands_max = 3,
	.operands_wanted = "give one to three fields",
	.version = "1.2",
};

/* Splits `line` at blanks, reads it, and gives what options_parse() does. */
static int read_line(const char *line, struct all *a, struct operands *operands, struct err *err)
{
	static char text[400], *argv[40];
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
		argv[argc++] = at;
	argv[argc] = NULL;
	*a = (struct all){.with_children = true, .depth = 7};
	return options_parse(&usage, argc, argv, a, operands, err);
}

static void test_read(void **state _unused_)
{
	struct operands o;
	struct all a;
	struct err err;

	assert_int_equal(read_line("dig x", &a, &o, &err), 0);
	assert_int_equal(a.depth, 7);
	assert_true(a.with_children);
	assert_int_equal(o.count, 1);

	assert_int_equal(
		read_line("dig a -fn5 b --where=W --no-children - --form xml", &a, &o, &err), 0);
	assert_true(a.fast);
	assert_false(a.with_children);
	assert_int_equal(a.depth, 5);
	assert_int_equal(a.form, XML);
	assert_string_equal(a.where, "W");
	assert_int_equal(o.count, 3);
	assert_string_equal(o.list[0], "a");
	assert_string_equal(o.list[1], "b");
	assert_string_equal(o.list[2], "-");

	/* What stands behind -- is no option, and the last of two counts. */
	assert_int_equal(read_line("dig -n 5 -n 6 a -- -f --json", &a, &o, &err), 0);
	assert_int_equal(a.depth, 6);
	assert_false(a.fast);
	assert_int_equal(o.count, 3);
	assert_string_equal(o.list[1], "-f");

	/* Beginnings of names, and one that is whole besides being a beginning. */
	assert_int_equal(read_line("dig --dep 9 --fo json --ag=2 --serv h:1 x", &a, &o, &err), 0);
	assert_int_equal(a.depth, 9);
	assert_int_equal(a.form, JSON);
	assert_int_equal(a.inner.age_ns, UINT64_C(2000000000));
	assert_string_equal(a.inner.server, "h:1");

	assert_int_equal(read_line("dig -e one -etwo -w -f x", &a, &o, &err), 0);
	assert_int_equal(a.file_count, 2);
	assert_string_equal(a.files[1], "two");
	assert_string_equal(a.where, "-f");

	/* An optional argument is the one behind = only. */
	assert_int_equal(read_line("dig --maybe x", &a, &o, &err), 0);
	assert_string_equal(a.last, "--maybe=nothing");
	assert_int_equal(read_line("dig --maybe=gnu x -rC --recurse", &a, &o, &err), 0);
	assert_string_equal(a.last, "-C=nothing");
	assert_int_equal(a.calls, 2);
}

static void test_order(void **state _unused_)
{
	char words[][8] = {"dig", "a", "-n", "5", "b", "-f", "--", "-c"};
	char *argv[] = {words[0], words[1], words[2], words[3], words[4],
			words[5], words[6], words[7], NULL};
	static const char *const sorted[] = {"dig", "-n", "5", "-f", "--", "a", "b", "-c"};
	struct operands o;
	struct all a = {0};
	struct err err;

	/* Once more it means the same. */
	for (int round = 0; round < 2; round++) {
		assert_int_equal(options_parse(&usage, 8, argv, &a, &o, &err), 0);
		for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
			assert_string_equal(argv[i], sorted[i]);
		assert_int_equal(o.count, 3);
		assert_ptr_equal(o.list, argv + 5);
		assert_int_equal(a.depth, 5);
	}
}

static void test_bytes(void **state _unused_)
{
	static const struct {
		const char *line;
		uint64_t bytes; /* 0: refused */
	} cases[] = {
		{"dig --bytes 1 x", 1},
		{"dig --bytes 64K x", 65536},
		{"dig --bytes 3M x", 3 << 20},
		{"dig --bytes 10G x", UINT64_C(10) << 30},
		{"dig --bytes 65536G x", UINT64_C(1) << 46},
		{"dig --bytes 65537G x", 0},
		{"dig --bytes 18014398509481984G x", 0},
		{"dig --bytes 99999999999999999999 x", 0},
		{"dig --bytes 0 x", 0},
		{"dig --bytes 1T x", 0},
		{"dig --bytes 1KK x", 0},
		{"dig --bytes K x", 0},
		{"dig --bytes -1 x", 0},
		{"dig --bytes +1 x", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct operands o;
		struct all a;
		struct err err;
		int rc = read_line(cases[i].line, &a, &o, &err);

		assert_int_equal(rc, cases[i].bytes ? 0 : ERR_USAGE);
		if (!rc)
			assert_int_equal(a.bytes, cases[i].bytes);
		else
			assert_non_null(strstr(err.message,
					       "is not a number from 1 to 7036874417766"
					       "4"));
	}
}

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *line;
		int code;
		const char *message;
	} cases[] = {
		{"dig --xml x", ERR_USAGE, "dig: unknown option --xml (see mole dig --help)"},
		{"dig --xml=1 x", ERR_USAGE, "dig: unknown option --xml=1 (see mole dig --help)"},
		{"dig -fZ x", ERR_USAGE, "dig: unknown option -Z (see mole dig --help)"},
		{"dig --f x", ERR_USAGE,
		 "dig: option --f begins the names of several (see mole dig --help)"},
		{"dig x -n", ERR_USAGE, "dig: option -n needs a value (see mole dig --help)"},
		{"dig x --where", ERR_USAGE,
		 "dig: option --where needs a value (see mole dig --help)"},
		{"dig x --fast=1", ERR_USAGE,
		 "dig: option --fast=1 takes no value (see mole dig --help)"},
		{"dig x --help=1", ERR_USAGE,
		 "dig: option --help=1 takes no value (see mole dig --help)"},
		{"dig x -n 0", ERR_USAGE, "-n 0 is not a number from 1 to 100"},
		{"dig x --depth 101", ERR_USAGE, "--depth 101 is not a number from 1 to 100"},
		{"dig x --depth=", ERR_USAGE, "--depth  is not a number from 1 to 100"},
		{"dig x --depth 0x5", ERR_USAGE, "--depth 0x5 is not a number from 1 to 100"},
		{"dig x --form yaml", ERR_USAGE, "--form yaml is not plain, json or xml"},
		{"dig x -e1 -e2 -e3", ERR_USAGE, "more than 2 -e"},
		{"dig x --call bad", ERR_NOT_FOUND, "--call bad: not there"},
		{"dig", ERR_USAGE, "dig: give one to three fields (see mole dig --help)"},
		{"dig a b c d", ERR_USAGE, "dig: give one to three fields (see mole dig --help)"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct operands o;
		struct all a;
		struct err err;

		assert_int_equal(read_line(cases[i].line, &a, &o, &err), cases[i].code);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void test_operands(void **state _unused_)
{
	struct option_usage own = {.name = "mole", .operands_max = 0};
	char words[][4] = {"m", "x"};
	char *argv[] = {words[0], words[1], NULL};
	struct operands o;
	struct err err;

	assert_int_equal(options_parse(&own, 2, argv, NULL, &o, &err), ERR_USAGE);
	assert_string_equal(err.message, "unexpected argument x (see mole --help)");
	assert_int_equal(options_parse(&own, 1, argv, NULL, NULL, &err), 0);
	argv[0] = NULL;
	assert_int_equal(options_parse(&own, 0, argv, NULL, &o, &err), 0);
	assert_int_equal(o.count, 0);
}

static void test_help(void **state _unused_)
{
	static const char expected[] =
		"usage: mole dig [OPTION]... FIELD...\n"
		"       mole dig --all\n"
		"\n"
		"Digs. This sentence goes on until it does not fit into one line, and is broken\n"
		"where it fits.\n"
		"\n"
		"  field   what it is\n"
		"  other   another\n"
		"\n"
		"  -f, --fast          without looking, at all\n"
		"  --no-children       alone\n"
		"  -n, --depth N       how deep\n"
		"  --bytes N           how much\n"
		"  --form FORM         plain, json or xml\n"
		"  --json              the same as --form json\n"
		"  -w, --where DIR     the field\n"
		"  -e FILE             a file\n"
		"  --call WHEN         calls\n"
		"  --pid PID           a name that is longer than others stays alone\n"
		"  --a-name-that-is-very-long ARGUMENT\n"
		"                      the same\n"
		"\n"
		"From where:\n"
		"  --server HOST:PORT  the service\n"
		"  --age SECONDS       older ones go; this text is long enough to be broken into\n"
		"                      a second line, at a blank\n"
		"                      and here\n"
		"  --version           says which this is\n"
		"\n"
		"Exit status: 0.\n";
	_cleanup_(buf_done) struct buf out = BUF_INIT(65536);

	options_help(&usage, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

/* --help wins over what stands behind it, and what is asked for is printed once. */
static void test_asked(void **state _unused_)
{
	static const char *const lines[] = {"dig --help --wrong", "dig -h", "dig -fh",
					    "dig --version", "dig --hel"};
	struct operands o;
	struct all a;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(read_line(lines[i], &a, &o, &err), 1);
}

static void complete(const char *line, const char *expected)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	static char text[200], *words[20];
	size_t count = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *rest = text, *at; (at = strsep(&rest, " "));)
		words[count++] = at;
	options_complete(&usage, words, count, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void test_complete(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	char option[] = "--pid", own[16];
	char *words[] = {option, own};

	complete("--fa", "--fast\twithout looking\n");
	complete("x --json --s", "--server\tthe service\n");
	complete("-n", "-n\thow deep\n");
	complete("--version", "--version\tsays which this is\n");
	complete("--maybe", "");
	complete("--form ", "plain\njson\nxml\n");
	complete("--form j", "json\n");
	complete("--call al", "always\n");
	complete("-fw ", ":files\n");
	complete("--where=x ", ":files\n");
	complete("--fast ", ":files\n");
	complete("", ":files\n");
	snprintf(own, sizeof(own), "%d", (int)getpid());
	options_complete(&usage, words, 2, &out);
	assert_non_null(strstr(buf_cstr(&out), own));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),     cmocka_unit_test(test_order),
		cmocka_unit_test(test_bytes),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_operands), cmocka_unit_test(test_help),
		cmocka_unit_test(test_asked),    cmocka_unit_test(test_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
