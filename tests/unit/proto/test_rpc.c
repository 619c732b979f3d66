/* SPDX-License-Identifier: Apache-2.0 */
/* The RPC adapter: our client against our server over loopback, and against nobody. */
#include "rpc_client.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "rawstack/v1/binaries.pb-c.h"

static void test_targets(void **state _unused_)
{
	static const struct {
		const char *target;
		int code;
	} rows[] = {
		{"127.0.0.1:7077", 0},
		{"[::1]:7077", 0},
		{"localhost:1", 0},
		{"unix:/run/rawstack/socket", 0},
		{"", ERR_USAGE},
		{"127.0.0.1", ERR_USAGE},
		{":7077", ERR_USAGE},
		{"127.0.0.1:", ERR_USAGE},
		{"127.0.0.1:0", ERR_USAGE},
		{"127.0.0.1:65536", ERR_USAGE},
		{"127.0.0.1:70x", ERR_USAGE},
		{"::1:7077", ERR_USAGE},
		{"dns:///localhost:1", ERR_USAGE},
		{"unix:", ERR_USAGE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rpc_client *c = NULL;
		struct err err;

		if (rpc_client_open(&c, rows[i].target, &err) != rows[i].code)
			fail_msg("'%s' gave another code", rows[i].target);
		rpc_client_close(c);
	}
}

static void test_nobody_there(void **state _unused_)
{
	_cleanup_(rpc_client_closep) struct rpc_client *c = NULL;
	Rawstack__V1__LimitsRequest request = RAWSTACK__V1__LIMITS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	struct err err;

	assert_int_equal(rpc_client_open(&c, "127.0.0.1:1", &err), 0);
	assert_int_equal(rpc_client_call(c, "/rawstack.v1.Binaries/Limits", &request.base,
					 &rawstack__v1__limits_reply__descriptor, 5000, &reply,
					 &err),
			 ERR_UNAVAILABLE);
	assert_null(reply);
	assert_memory_equal(err.message, "127.0.0.1:1: ", 13);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_nobody_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
