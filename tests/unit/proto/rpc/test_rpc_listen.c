/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server may listen. */
#include "rpc_listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_listen_addresses(void **state _unused_)
{
	static const struct {
		const char *address;
		int rc;
	} rows[] = {
		{"127.0.0.1:0", 0},
		{"127.9.9.9:80", 0},
		{"[::1]:7077", 0},
		{"localhost:7077", 0},
		{"unix:/run/x/s", 1},
		{"0.0.0.0:7077", ERR_DENIED},
		{"[::]:7077", ERR_DENIED},
		{"192.168.0.1:1", ERR_DENIED},
		{"example.org:1", ERR_DENIED},
		{"127.0.0.1", ERR_USAGE},
		{"127.0.0.1:x", ERR_USAGE},
		{":7077", ERR_USAGE},
		{"", ERR_USAGE},
		{"localhost.evil:1", ERR_DENIED},
		{"::1:7077", ERR_USAGE},
		{"[::1:7077", ERR_USAGE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rpc_listen_check(rows[i].address, false, NULL) != rows[i].rc)
			fail_msg("'%s'", rows[i].address);
	assert_int_equal(rpc_listen_check("0.0.0.0:7077", true, NULL), 0);
	assert_int_equal(rpc_listen_check("example.org:7077", true, NULL), ERR_USAGE);
}

static void test_one_place(void **state _unused_)
{
	static const struct {
		const char *a, *b;
		int rc;
	} rows[] = {
		{"127.0.0.1:1", "127.0.0.1:2", 0},
		{"127.0.0.1:1", "127.0.0.2:1", 0},
		{"127.0.0.1:0", "127.0.0.1:0", 0},
		{"0.0.0.0:0", "[::]:0", 0},
		{"127.0.0.1:1", "127.0.0.1:1", ERR_USAGE},
		{"127.0.0.1:1", "127.0.0.1:01", ERR_USAGE},
		{"0.0.0.0:1", "[::1]:1", ERR_USAGE},
		{"127.0.0.1:1", "[::]:1", ERR_USAGE},
		{"unix:/a/b", "unix:/a/c", 0},
		{"unix:/a/b", "127.0.0.1:1", 0},
		{"unix:/a/b", "unix:/a/b", ERR_USAGE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *both[] = {rows[i].a, rows[i].b};

		if (rpc_listen_check_all(both, 2, NULL) != rows[i].rc)
			fail_msg("%s, %s", both[0], both[1]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen_addresses),
		cmocka_unit_test(test_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
