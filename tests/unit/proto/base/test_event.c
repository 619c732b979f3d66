/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines: their fields, strangers' bytes, levels, the bound on lines, and the journal. */
#include "event.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char text[1 << 20];

/* stderr becomes a file in memory while fn runs; text has what came. */
static void capture(void (*fn)(void))
{
	int saved = dup(STDERR_FILENO), fd = memfd_create("log", MFD_CLOEXEC);
	ssize_t len;

	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	fn();
	len = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
}

static void write_fields(void)
{
	static const char hostile[] = "a\nlevel=error \"b\" \\ \x1b[31m \xe2\x80\xae \xff";
	struct build_id id;
	char many[2000];
	struct event e;

	memset(many, '\n', sizeof(many));
	build_id_set(&id, BUILD_ID_GNU, "\x12\xab", 2, NULL);
	assert_true(event_begin(&e, LOG_WARN, EVENT_BUILD));
	event_text(&e, "bare", "/usr/bin/x-1.0:2@[3]");
	event_text(&e, "blank", "a b");
	event_text(&e, "empty", "");
	event_bytes(&e, "hostile", hostile, sizeof(hostile) - 1);
	event_bytes(&e, "zero", "a\0b", 3);
	event_number(&e, "n", UINT64_MAX);
	event_hex64(&e, "x", 0xab);
	event_seconds(&e, "s", 1000000123456);
	event_id(&e, "id", &id);
	event_bytes(&e, "many", many, sizeof(many));
	event_bytes(&e, "again", many, sizeof(many));
	event_bytes(&e, "more", many, sizeof(many));
	event_number(&e, "last", 1);
	event_end(&e);
}

static void test_fields(void **state _unused_)
{
	capture(write_fields);
	assert_non_null(strstr(
		text,
		"test: level=warning event=build bare=/usr/bin/x-1.0:2@[3] blank=\"a b\" "
		"empty=\"\" "
		"hostile=\"a\\x0alevel=error \\\"b\\\" \\\\ \\x1b[31m \\xe2\\x80\\xae \\xff\" "
		"zero=\"a\\x00b\" n=18446744073709551615 x=00000000000000ab s=1000.000123 id=12ab "
		"many=\"\\x0a"));
	assert_non_null(strstr(text, "\\x0a...\""));
	assert_non_null(strstr(text, " last=1\n"));
	assert_int_equal(strlen(text), strcspn(text, "\n") + 1); /* one line, whatever is in it */
	assert_true(strlen(text) < 1024);
}

static void write_levels(void)
{
	struct event e;

	log_set_level(LOG_WARN);
	assert_false(event_begin(&e, LOG_INFO, EVENT_CHANGE));
	log_info("not this one");
	log_warn("but this one");
	log_set_level(LOG_DEBUG);
	assert_true(event_begin(&e, LOG_DEBUG, EVENT_CHANGE));
	event_end(&e);
	log_set_level(LOG_INFO);
	assert_false(event_begin(&e, LOG_DEBUG, EVENT_CHANGE));
	assert_int_equal(event_left_out(EVENT_CHANGE), 0);
}

static void test_levels(void **state _unused_)
{
	capture(write_levels);
	assert_string_equal(text, "test: warning: but this one\n"
				  "test: level=debug event=change\n");
}

static void write_flood(void)
{
	struct event e;

	for (int i = 0; i < 100000; i++)
		if (event_begin(&e, LOG_INFO, EVENT_REFUSAL))
			event_end(&e);
	event_tell_left_out(true);
	event_tell_left_out(true);
}

/* However slow the machine is, lines come two a second at most beyond the first hundred. */
static void test_flood(void **state _unused_)
{
	struct event e;
	char told[80];
	size_t lines = 0;

	capture(write_flood);
	for (const char *at = text; (at = strstr(at, "event=refusal\n")); at++)
		lines++;
	assert_true(lines >= 100 && lines < 50000);
	assert_int_equal(event_left_out(EVENT_REFUSAL), 100000 - lines);
	snprintf(told, sizeof(told), "test: warning: %zu lines of event=refusal were left out",
		 100000 - lines);
	assert_non_null(strstr(text, told));
	assert_null(strstr(strstr(text, told) + strlen(told), "left out"));
	/* Other kinds have lines of their own. */
	assert_true(event_begin(&e, LOG_INFO, EVENT_EVICTION));
}

static void write_journal(void)
{
	struct event e;
	struct stat st;
	char name[80];

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(name, sizeof(name), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", name, 1);
	log_init("test");
	log_error("e");
	log_warn("w");
	log_info("i");
	assert_true(event_begin(&e, LOG_WARN, EVENT_EVICTION));
	event_end(&e);
	/* Of a stderr that went elsewhere since, and of no numbers. */
	setenv("JOURNAL_STREAM", "1:2", 1);
	log_init("test");
	log_info("j");
	setenv("JOURNAL_STREAM", "x", 1);
	log_init("test");
	log_info("k");
	unsetenv("JOURNAL_STREAM");
	log_init("test");
}

static void test_journal(void **state _unused_)
{
	capture(write_journal);
	assert_string_equal(text, "<3>test: e\n"
				  "<4>test: warning: w\n"
				  "<6>test: i\n"
				  "<4>test: level=warning event=eviction\n"
				  "test: j\n"
				  "test: k\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_journal),
	};

	unsetenv("JOURNAL_STREAM");
	log_init("test");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
