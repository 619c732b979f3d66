/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several servers is used: the next one when one is away, the first again after a minute.
 */
#include "rpc_servers.h"

#include <setjmp.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static void test_order(void **state _unused_)
{
	_cleanup_(rpc_servers_unrefp) struct rpc_servers *s = NULL;
	struct err err;

	assert_int_equal(rpc_servers_new(&s, "a:1, [::1]:2 ,unix:/c", &err), 0);
	assert_int_equal(rpc_servers_count(s), 3);
	assert_string_equal(rpc_servers_name(s, 1), "[::1]:2");
	assert_string_equal(rpc_servers_name(s, 2), "unix:/c");
	assert_int_equal(rpc_servers_begin(s, 100 * S), 0);
	rpc_servers_away(s, 0, "away", 100 * S);
	assert_int_equal(rpc_servers_at(s), 1);
	/* Another client, which finds the same out later, changes nothing. */
	rpc_servers_away(s, 0, "away", 101 * S);
	assert_int_equal(rpc_servers_at(s), 1);
	rpc_servers_answered(s, 1);
	assert_int_equal(rpc_servers_begin(s, 159 * S), 1);
	/* One client tries the first again, and the others stay where they are until it answers. */
	assert_int_equal(rpc_servers_begin(s, 160 * S), 0);
	assert_int_equal(rpc_servers_begin(s, 160 * S), 1);
	rpc_servers_away(s, 0, "away", 164 * S);
	assert_int_equal(rpc_servers_at(s), 1);
	assert_int_equal(rpc_servers_begin(s, 219 * S), 1);
	assert_int_equal(rpc_servers_begin(s, 220 * S), 0);
	rpc_servers_answered(s, 0);
	assert_int_equal(rpc_servers_at(s), 0);
	/* What ends elsewhere does not call the others back. */
	rpc_servers_answered(s, 1);
	assert_int_equal(rpc_servers_at(s), 0);
	for (size_t i = 0; i < 3; i++)
		rpc_servers_away(s, i, "away", 300 * S);
	assert_int_equal(rpc_servers_at(s), 0);
}

static void test_lists(void **state _unused_)
{
	static const char *const wrong[] = {
		"", ",", " ", "a:1,,b:2", ",a:1", "a:1, ,b", "1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h"};
	struct rpc_servers *s = NULL;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(rpc_servers_new(&s, wrong[i], &err), ERR_USAGE);
	/* One comma at the end of a line is no slip. */
	assert_int_equal(rpc_servers_new(&s, "a:1,", &err), 0);
	assert_int_equal(rpc_servers_count(s), 1);
	rpc_servers_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
