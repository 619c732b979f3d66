/* SPDX-License-Identifier: Apache-2.0 */
/* What happens again and again is told again, with how often, and not each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "run_log.h"

#define SECOND UINT64_C(1000000000)

/* Standard error, while a test runs. */
struct told {
	int fd, before;
	char text[4096];
};

static int begin_told(void **state)
{
	static struct told t;

	t.fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	t.before = dup(STDERR_FILENO);
	assert_true(t.fd >= 0 && t.before >= 0);
	assert_true(dup2(t.fd, STDERR_FILENO) >= 0);
	log_init("test");
	*state = &t;
	return 0;
}

static int end_told(void **state)
{
	struct told *t = *state;

	assert_true(dup2(t->before, STDERR_FILENO) >= 0);
	close(t->before);
	close(t->fd);
	return 0;
}

/* What was told since the last call. */
static const char *take_told(struct told *t)
{
	ssize_t n = pread(t->fd, t->text, sizeof(t->text) - 1, 0);

	assert_true(n >= 0);
	t->text[n] = 0;
	assert_int_equal(ftruncate(t->fd, 0), 0);
	assert_true(lseek(t->fd, 0, SEEK_SET) == 0);
	return t->text;
}

static void test_ship_ended(void **state)
{
	const int failed = 3 << 8; /* as waitpid(2) has it */
	struct run_log l = {0};
	uint64_t now = 1000 * SECOND;
	const char *text;

	run_log_ship_ended(&l, failed, now);
	text = take_told(*state);
	assert_non_null(strstr(text, "warning: rawstack-ship ended with status 3; it is started"));
	for (int i = 0; i < 5; i++) {
		now += 10 * SECOND;
		run_log_ship_ended(&l, failed, now);
		assert_string_equal(take_told(*state), "");
	}
	now += 10 * SECOND;
	run_log_ship_ended(&l, SIGSEGV, now);
	text = take_told(*state);
	assert_non_null(strstr(text, "ended 6 times more, the last time with signal 11;"));
	run_log_ship_ended(&l, failed, now + 59 * SECOND);
	assert_string_equal(take_told(*state), "");
	run_log_ship_ended(&l, failed, now + 60 * SECOND);
	assert_non_null(strstr(take_told(*state), "ended 2 times more"));
}

static void test_dropped(void **state)
{
	struct run_log l = {0};
	uint64_t now = SECOND;

	run_log_dropped(&l, 0, SPOOL_DROP_SIZE, now);
	assert_string_equal(take_told(*state), "");
	run_log_dropped(&l, 100, SPOOL_DROP_SIZE, now);
	assert_non_null(strstr(take_told(*state), "100 samples that were not shipped are dropped "
						  "from the spool, for its limit on size"));
	for (uint64_t count = 101; count < 160; count++) {
		now += SECOND;
		run_log_dropped(&l, count, SPOOL_DROP_AGE, now);
		assert_string_equal(take_told(*state), "");
	}
	now += SECOND;
	run_log_dropped(&l, 160, SPOOL_DROP_FLOOR, now);
	assert_non_null(strstr(take_told(*state), "60 samples that were not shipped"));
	/* Nothing new. */
	run_log_dropped(&l, 160, SPOOL_DROP_FLOOR, now + 3600 * SECOND);
	assert_string_equal(take_told(*state), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ship_ended, begin_told, end_told),
		cmocka_unit_test_setup_teardown(test_dropped, begin_told, end_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
