/* SPDX-License-Identifier: Apache-2.0 */
/* Who a connection is of: the same by its address and by what gRPC makes of that. */
#include "rpc_peer.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static uint32_t of_4(const char *host, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	assert_int_equal(inet_pton(AF_INET, host, &in.sin_addr), 1);
	return rpc_peer_of_address((const struct sockaddr *)&in, sizeof(in));
}

static uint32_t of_6(const char *host, uint16_t port)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	assert_int_equal(inet_pton(AF_INET6, host, &in.sin6_addr), 1);
	return rpc_peer_of_address((const struct sockaddr *)&in, sizeof(in));
}

static void test_tcp(void **state _unused_)
{
	assert_int_equal(rpc_peer_of_text("ipv4:127.0.0.1:4321"), of_4("127.0.0.1", 4321));
	assert_int_not_equal(of_4("127.0.0.1", 4321), of_4("127.0.0.1", 4322));
	assert_int_not_equal(of_4("127.0.0.1", 4321), 0);
	assert_int_equal(of_6("::ffff:127.0.0.1", 4321), of_4("127.0.0.1", 4321));
	assert_int_equal(rpc_peer_of_text("ipv6:[::1]:4321"), of_6("::1", 4321));
	assert_int_equal(rpc_peer_of_text("ipv6:%5B::1%5D:4321"), of_6("::1", 4321));
	assert_int_not_equal(of_6("::1", 4321), of_6("::1", 4322));
}

static void test_wrong(void **state _unused_)
{
	static const char *const wrong[] = {
		"",
		"ipv4:",
		"ipv6:",
		"ipv4:1",
		"ipv4:1:1",
		"ipv6:[",
		"ipv6:]:1",
		"unix:/run/x:1",
		"ipv4:127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1:1"};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(rpc_peer_of_text(wrong[i]), 0);
}

static void test_user(void **state _unused_)
{
	struct sockaddr_storage address = {.ss_family = AF_UNIX};
	struct sockaddr *p = (struct sockaddr *)&address;
	socklen_t len = sizeof(p->sa_family);
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;
	char host[INET6_ADDRSTRLEN], text[128];
	uint32_t number;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(rpc_peer_of_address(p, len), 0);
	rpc_peer_write(pair[0], p, sizeof(address), &len);
	assert_int_equal(len, sizeof(*in6));
	number = rpc_peer_of_address(p, len);
	assert_int_not_equal(number, 0);
	assert_non_null(inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)));
	snprintf(text, sizeof(text), "ipv6:%%5B%s%%5D:0", host);
	assert_int_equal(rpc_peer_of_text(text), number);
	/* Another one of the same user is the same client. */
	address = (struct sockaddr_storage){.ss_family = AF_UNIX};
	len = sizeof(p->sa_family);
	rpc_peer_write(pair[1], p, sizeof(address), &len);
	assert_int_equal(rpc_peer_of_address(p, len), number);
	/* What has no room stays as it is. */
	address = (struct sockaddr_storage){.ss_family = AF_UNIX};
	len = sizeof(p->sa_family);
	rpc_peer_write(pair[1], p, 16, &len);
	assert_int_equal(len, sizeof(p->sa_family));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
