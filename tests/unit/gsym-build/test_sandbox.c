/* SPDX-License-Identifier: Apache-2.0 */
/* What the table worker may do and what ends it, each in a child. */
#include "sandbox.h"
#include "sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static void do_work(void)
{
	char *volatile p = malloc(100 << 20);

	memset(p, 1, 100 << 20);
	p = realloc(p, 200 << 20);
	free(p);
	_exit(write(STDOUT_FILENO, "", 0) == 0 ? 0 : 9);
}

static void do_open(void)
{
	_exit(open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM ? 0 : 9);
}

static void do_abort(void)
{
	abort();
}

static void do_socket(void)
{
	_exit(socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 9 : 8);
}

static void do_exec(void)
{
	execl("/bin/true", "true", NULL);
	_exit(9);
}

static void do_fork(void)
{
	_exit(fork() >= 0 ? 9 : 8);
}

static void do_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	_exit(p != MAP_FAILED ? 9 : 8);
}

static void test_calls(void **state _unused_)
{
	static const struct {
		void (*act)(void);
		int want; /* of waitpid: exit status << 8, or the signal */
	} rows[] = {
		{do_work, 0},      {do_open, 0},      {do_abort, SIGABRT}, {do_socket, SIGSYS},
		{do_exec, SIGSYS}, {do_fork, SIGSYS}, {do_code, SIGSYS},
	};

	if (UNDER_SANITIZER)
		return; /* the filter is off */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct rlimit no_core = {0};
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			setrlimit(RLIMIT_CORE, &no_core);
			if (sandbox_enter(NULL))
				_exit(7);
			signal(SIGABRT, SIG_DFL);
			rows[i].act();
			_exit(6);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != rows[i].want)
			fail_msg("row %zu: %#x instead of %#x", i, status, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
