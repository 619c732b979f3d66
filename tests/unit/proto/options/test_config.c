/* SPDX-License-Identifier: Apache-2.0 */
/* Options from a file, from the environment and from the command line, and which of them counts. */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config_priv.h"

struct mole {
	const char *where;
	uint32_t depth;
	uint64_t store_bytes, age_ns;
	bool fast, with_children;
	enum {
		PLAIN,
		JSON
	} form;
	const char *files[3];
	size_t file_count;
	char pids[32];
};

static int add_pid(void *at, const char *option, const char *argument, struct err *err)
{
	struct mole *m = at;
	const size_t len = strlen(m->pids);

	if (strcmp(argument, "bad") == 0)
		return err_set(err, ERR_NOT_FOUND, "%s %s: not there", option, argument);
	snprintf(m->pids + len, sizeof(m->pids) - len, "%s;", argument);
	return 0;
}

static const char *const forms[] = {"plain", "json", NULL};

static const struct option_row more_rows[] = {
	OPTION_NUMBER(0, "age", "SECONDS", struct mole, age_ns, 1, 3600, 1000000000, "older go"),
	OPTION_END,
};

static const struct option_row rows[] = {
	OPTION_HEADING("What:"),
	OPTION_NUMBER('n', "depth", "N", struct mole, depth, 1, 100, 1, "how deep"),
	OPTION_BYTES(0, "store-bytes", "N", struct mole, store_bytes, 1, UINT64_C(1) << 40, "disk"),
	OPTION_TEXT(0, "where", "DIR", struct mole, where, "the field",
		    .variable = "RAWSTACK_WHERE"),
	OPTION_WORD(0, "form", "FORM", struct mole, form, forms, "plain or json"),
	OPTION_FLAG(0, "fast", struct mole, fast, "without looking"),
	OPTION_SET(0, "no-children", struct mole, with_children, false, "alone"),
	OPTION_LIST(0, "file", "FILE", struct mole, files, file_count, 3, "a file"),
	OPTION_CALL(0, "pid", "PID", add_pid, "a process"),
	OPTION_IGNORE(0, "nothing", NULL),
	OPTION_MORE(more_rows),
	OPTION_END,
};

static const struct option_config file = {"RAWSTACK_MOLE_"};
static const struct option_usage usage = {
	.name = "mole", .synopsis = "[OPTION]...", .rows = rows, .config = &file};

static char path[] = "/tmp/rawstack-config-XXXXXX";

static void write_config(const void *p, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* The words of a line, behind --config and the path when there is a text for the file. */
static int read_words(const char *text, const char *line, struct mole *m, struct config *c,
		      struct err *err)
{
	static char words[400];
	char *argv[30];
	int argc = 0;

	if (text)
		write_config(text, strlen(text));
	snprintf(words, sizeof(words), "mole %s %s %s", text ? "--config" : "", text ? path : "",
		 line);
	for (char *rest = words, *at; (at = strsep(&rest, " "));)
		if (*at)
			argv[argc++] = at;
	*m = (struct mole){.depth = 10, .with_children = true};
	*c = (struct config){0};
	return config_parse(&usage, argc, argv, m, c, err);
}

/* What is printed for one text, line and the variables that are set. */
static void expect_print(const char *text, const char *line, const char *expected)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	_cleanup_(config_done) struct config c = {0};
	struct mole m;
	struct err err;

	assert_int_equal(read_words(text, line, &m, &c, &err), 0);
	config_print(&c, &usage, &m, &out);
	assert_non_null(strstr(buf_cstr(&out), expected));
}

static void test_file(void **state _unused_)
{
	_cleanup_(config_done) struct config c = {0};
	struct mole m;
	struct err err;

	assert_int_equal(read_words("# a comment\n"
				    "\n"
				    "   depth=12\r\n"
				    "\tstore-bytes \t=  3G   # disk\n"
				    "where = \"/srv/a # \\\"b\\\\ \"   # quoted\n"
				    "form = json\n"
				    "fast = on\n"
				    "no-children = yes\n"
				    "file = one#two\n"
				    "file = three four\n"
				    "pid = 1,2\n"
				    "pid = 3\n"
				    "age = 60",
				    "", &m, &c, &err),
			 0);
	assert_int_equal(m.depth, 12);
	assert_int_equal(m.store_bytes, UINT64_C(3) << 30);
	assert_string_equal(m.where, "/srv/a # \"b\\ ");
	assert_int_equal(m.form, JSON);
	assert_true(m.fast);
	assert_false(m.with_children);
	assert_int_equal(m.file_count, 2);
	assert_string_equal(m.files[0], "one#two");
	assert_string_equal(m.files[1], "three four");
	assert_string_equal(m.pids, "1,2;3;");
	assert_int_equal(m.age_ns, UINT64_C(60000000000));
}

/* A higher source says all of an option: nothing is added to it, and `no` is an answer. */
static void test_order(void **state _unused_)
{
	static const char text[] = "depth = 1\nfile = a\nfile = b\npid = 1\nfast = yes\n"
				   "where = below\nno-children = no\n";
	_cleanup_(config_done) struct config c = {0};
	struct mole m;
	struct err err;

	setenv("RAWSTACK_MOLE_DEPTH", "2", 1);
	setenv("RAWSTACK_MOLE_WHERE", "variable", 1);
	setenv("RAWSTACK_MOLE_FAST", "no", 1);
	setenv("RAWSTACK_MOLE_STORE_BYTES", "", 1); /* as a unit leaves it */
	assert_int_equal(read_words(text, "--file c --pid 2 --depth 3", &m, &c, &err), 0);
	assert_int_equal(m.depth, 3);
	assert_string_equal(m.where, "variable");
	assert_int_equal(m.file_count, 1);
	assert_string_equal(m.files[0], "c");
	assert_string_equal(m.pids, "2;");
	assert_false(m.fast);
	assert_true(m.with_children);
	assert_int_equal(m.store_bytes, 0);
	expect_print(text, "", "depth = 2                                # environment\n");
	expect_print(text, "", "fast = no                                # environment\n");
	setenv("RAWSTACK_MOLE_DEPTH", "x", 1);
	config_done(&c);
	assert_int_equal(read_words(text, "", &m, &c, &err), ERR_USAGE);
	assert_string_equal(err.message, "RAWSTACK_MOLE_DEPTH x is not a number from 1 to 100");
	unsetenv("RAWSTACK_MOLE_DEPTH");
	/* A variable of several programs gives way to that of this one. */
	setenv("RAWSTACK_WHERE", "shared", 1);
	expect_print(text, "", "where = variable  ");
	unsetenv("RAWSTACK_MOLE_WHERE");
	expect_print(text, "", "where = shared  ");
	unsetenv("RAWSTACK_WHERE");
	expect_print(text, "--depth 5 --depth 6",
		     "\ndepth = 6                                # command");
	setenv("RAWSTACK_MOLE_OPTIONS", "--depth 4", 1);
	expect_print(text, "", "depth = 1 ");
	setenv("RAWSTACK_MOLE_DEPHT", "4", 1);
	config_done(&c);
	assert_int_equal(read_words(text, "", &m, &c, &err), ERR_USAGE);
	assert_string_equal(err.message, "unknown variable RAWSTACK_MOLE_DEPHT");
	unsetenv("RAWSTACK_MOLE_DEPHT");
	unsetenv("RAWSTACK_MOLE_OPTIONS");
	expect_print(text, "", "where = below  ");
	unsetenv("RAWSTACK_MOLE_WHERE");
	unsetenv("RAWSTACK_MOLE_FAST");
	unsetenv("RAWSTACK_MOLE_STORE_BYTES");
}

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"\xef\xbb\xbf# of an editor\ndepht = 3\n",
		 "2: unknown key depht (is depth meant?)"},
		{"depht = 3\n", "1: unknown key depht (is depth meant?)"},
		{"\n\nstore_bytes = 3", "3: unknown key store_bytes (is store-bytes meant?)"},
		{"dep = 3\n", "1: unknown key dep (is depth meant?)"},
		{"zzzzzz = 3\n", "1: unknown key zzzzzz"},
		{"nothing = yes\n", "1: unknown key nothing"},
		{"config = yes\n", "1: unknown key config"},
		{"depth = 0\n", "1: depth 0 is not a number from 1 to 100"},
		{"fast = x\n", "1: fast x is not yes or no"},
		{"\ndepth =  # 3\n", "2: depth has no value"},
		{"depth = 3\n\ndepth = 3\n", "3: depth has a value in line 1 already"},
		{"file=1\nfile=2\nfile=3\nfile=4\n", "4: more than 3 file"},
		{"pid = bad\n", "1: pid bad: not there"},
		{"[mole]\n", "1: this is not NAME = VALUE, nor NAME = yes"},
		{"depth 3\n", "1: this is not NAME = VALUE, nor NAME = yes"},
		{"--depth = 3\n", "1: unknown key --depth (is depth meant?)"},
		{"where = \"a\n", "1: the quote is not closed"},
		{"where = \"a\" b\n", "1: something stands behind the closing quote"},
		{"depth = 3\nform = \x1b[0m\n", "2: a byte that is no text"},
	};
	char expected[ERR_MESSAGE_MAX];
	struct mole m;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(config_done) struct config c = {0};

		assert_true(read_words(cases[i].text, "", &m, &c, &err) < 0);
		snprintf(expected, sizeof(expected), "%s:%s", path, cases[i].message);
		assert_string_equal(err.message, expected);
	}
}

/* A byte of no text behind a NUL, and files that are too large or not there. */
static void test_files(void **state _unused_)
{
	char at_path[100];
	static char large[CONFIG_FILE_MAX + 1];
	struct config c;
	struct mole m;
	struct err err;

	snprintf(at_path, sizeof(at_path), "--config %s", path);
	write_config("depth = 3\n\0fast = yes\n", 22);
	assert_int_equal(read_words(NULL, at_path, &m, &c, &err), ERR_USAGE);
	assert_non_null(strstr(err.message, ":2: a byte that is no text"));
	config_done(&c);
	memset(large, '#', sizeof(large));
	write_config(large, sizeof(large));
	assert_int_equal(read_words(NULL, at_path, &m, &c, &err), ERR_LIMIT);
	config_done(&c);
	assert_int_equal(read_words(NULL, "--config /nonexistent/other", &m, &c, &err),
			 ERR_NOT_FOUND);
	config_done(&c);
	/* There need not be one. */
	assert_int_equal(read_words(NULL, "--fast", &m, &c, &err), 0);
	assert_true(m.fast);
	config_done(&c);
}

/* What --print-config says is read as the same again. */
static void test_print(void **state _unused_)
{
	static const char text[] = "depth = 7\nwhere = \"/a # b\"\nfile = 1\nfile = \" 2\"\n";
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	_cleanup_(config_done) struct config c = {0}, d = {0};
	struct mole m, n;
	struct err err;

	assert_int_equal(read_words(text, "--store-bytes 3072 --print-config", &m, &c, &err), 0);
	assert_true(c.wants_print);
	config_print(&c, &usage, &m, &out);
	assert_non_null(strstr(buf_cstr(&out), "\nstore-bytes = 3072                       "
					       "# command line\n"));
	assert_non_null(strstr(buf_cstr(&out), "\n# fast = no\n"));
	assert_non_null(strstr(buf_cstr(&out), "\n# form = plain\n"));
	assert_non_null(strstr(buf_cstr(&out), "\n# pid = (none)\n"));
	assert_null(strstr(buf_cstr(&out), "nothing"));
	assert_int_equal(read_words(buf_cstr(&out), "", &n, &d, &err), 0);
	assert_int_equal(n.depth, 7);
	assert_int_equal(n.store_bytes, 3072);
	assert_string_equal(n.where, "/a # b");
	assert_int_equal(n.file_count, 2);
	assert_string_equal(n.files[1], " 2");
}

static void count_row(void *ctx, const struct option_row *row)
{
	snprintf((char *)ctx + strlen(ctx), 50, "%s ", row->name);
}

static void test_compare(void **state _unused_)
{
	_cleanup_(config_done) struct config c = {0}, d = {0};
	char names[200] = "";
	struct mole m;
	struct err err;

	assert_int_equal(read_words("depth=1\nfile=a\nfile=b\nfast=yes\npid=1\n", "", &m, &c, &err),
			 0);
	assert_int_equal(
		read_words("depth=1\nfile=a\nfile=c\nfast=no\nage=3\npid=1\n", "", &m, &d, &err),
		0);
	config_compare(&usage, &c, &d, count_row, names);
	assert_string_equal(names, "fast file age ");
}

static int make_file(void **state _unused_)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state _unused_)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),    cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_files),
		cmocka_unit_test(test_print),   cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
