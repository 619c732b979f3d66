/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a table worker must not be able to do, tried by one (sandbox_probe) that is
 * started and limited as the real one is: each is refused or fatal, and whoever asked for a table
 * is told. */
#include "limits.h"
#include "sanitizer.h"
#include "table_build.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const char killed[] = "forbidden system call (SIGSYS)";

static const struct {
	const char *name, *told;
} rows[] = {
	{"work", "work: refused (0)"},
	{"abort", "crashed (SIGABRT)"}, /* seen as one, not as a forbidden call */
	{"fstat", killed},              /* what a program did not ask for it does not get */
	{"read", killed},
	{"open", "refused (EPERM)"},
	{"create", "refused (EPERM)"},
	{"open by number", killed},
	{"socket", killed},
	{"unix socket", killed},
	{"execve", killed},
	{"fork", killed},
	{"vfork", killed},
	{"clone", killed},
	{"clone3", killed},
	{"ptrace", killed},
	{"kill", killed},
	{"tgkill", killed},
	{"executable mmap", killed},
	{"executable mprotect", killed},
	{"memfd", killed},
	{"unlink", killed},
	{"raise a limit", "refused (EPERM)"},
	{"memory of others", killed},
	{"bpf", killed},
	{"io_uring", killed},
	{"unshare", killed},
	{"10 GB", "refused (ENOMEM)"},
	{"10 minutes of CPU", "more than 1 s of CPU"},
	{"sleep", "longer than 1 s"},
	{"large file", "larger than 1048576 bytes"},
	{"write to the input", "refused (EBADF)"},
	{"map the input", "refused (EACCES)"},
	{"cut the input", killed},
};

static int input_with(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void test_each(void **state _unused_)
{
	const char *probe = getenv("SANDBOX_PROBE");

	if (UNDER_SANITIZER) {
		print_message("the filter is off under a sanitizer\n");
		return;
	}
	assert_non_null(probe);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct table_request req = {
			.input_fd = input_with(rows[i].name),
			.executable_fd = -1,
			.output_fd = memfd_create("output", MFD_CLOEXEC),
			.input = TABLE_INPUT_KALLSYMS,
			.worker_path = probe,
			.memory_max = GIB,
			.cpu_seconds_max = strcmp(rows[i].name, "10 minutes of CPU") ? 100 : 1,
			.wall_ms_max = strcmp(rows[i].name, "sleep") ? 300000 : 1000,
			.table_len_max = MIB,
			.background = i % 2 == 0,
			.starved_ms = 500,
		};
		struct build_report report;
		struct err err = {0};

		assert_int_equal(build_id_parse(&req.id, "0102030405", NULL), 0);
		assert_true(table_build(&req, &report, &err) < 0);
		print_message("%-20s %s\n", rows[i].name, err.message);
		if (!strstr(err.message, rows[i].told))
			fail_msg("%s: '%s' instead of '%s'", rows[i].name, err.message,
				 rows[i].told);
		close(req.input_fd);
		close(req.output_fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
