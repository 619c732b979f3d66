/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers one call of the shipper goes to, when they are there and never answer. */
#include "ship_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io.h"
#include "rpc_server.h"

enum {
	SERVERS = 4,
	TIMEOUT_MS = 300,
	TIMEOUT_MAX_MS = 100000,
};

/* Takes connections, in its queue, and says nothing. */
static int silent_server(char *address, size_t len)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t in_len = sizeof(in);

	assert_return_code(fd, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &in_len), 0);
	snprintf(address, len, "127.0.0.1:%d", ntohs(in.sin_port));
	return fd;
}

static bool was_called(int fd)
{
	int connection = accept(fd, NULL, NULL);

	if (connection >= 0)
		close(connection);
	return connection >= 0;
}

static uint64_t now_ms(void)
{
	return io_mono_ns() / 1000000;
}

/* Calls in vain; two servers, from fds[first] on, are tried for it. False: the machine held it up,
 * so that its time was over before. */
static bool calls_two(struct ship_endpoint *e, const int fds[static SERVERS], int first,
		      uint32_t timeout_ms)
{
	Rawstack__V1__StackBatch request = RAWSTACK__V1__STACK_BATCH__INIT;
	const uint64_t began_ms = now_ms();
	Rawstack__V1__SymbolizedBatch *reply;
	struct err err;
	int count = 0;

	assert_int_equal(ship_endpoint_call(e, &request, timeout_ms, &reply, &err),
			 ERR_UNAVAILABLE);
	for (int i = 0; i < SERVERS; i++) {
		const bool called = was_called(fds[i]);

		assert_false(called && (i < first || i > first + 1));
		count += called;
	}
	assert_true(count == 2 || now_ms() - began_ms >= 2 * timeout_ms);
	return count == 2;
}

static bool try_silent(uint32_t timeout_ms)
{
	char addresses[SERVERS][32], list[SERVERS * 32] = "no address at all,";
	_cleanup_(ship_endpoint_close) struct ship_endpoint e;
	struct ship_route route;
	int fds[SERVERS];
	struct err err;
	bool good;

	for (int i = 0; i < SERVERS; i++) {
		fds[i] = silent_server(addresses[i], sizeof(addresses[i]));
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "",
			 addresses[i]);
	}
	assert_int_equal(ship_route_init(&route, list, NULL, NULL, &err), 0);
	ship_endpoint_init(&e, &route, NULL);
	good = calls_two(&e, fds, 0, timeout_ms) && calls_two(&e, fds, 2, timeout_ms);
	for (int i = 0; i < SERVERS; i++)
		close(fds[i]);
	return good;
}

/* Whoever stops the shipper waits for its call: it does not try them all. The next one goes on. */
static void test_silent(void **state _unused_)
{
	uint32_t timeout_ms = TIMEOUT_MS;

	while (!try_silent(timeout_ms)) {
		timeout_ms *= 4;
		assert_in_range(timeout_ms, TIMEOUT_MS, TIMEOUT_MAX_MS);
	}
}

/* --- a server that comes back ---------------------------------------------------------------- */

/* The beginning of HTTP/2: an empty SETTINGS frame. */
static void *serve_once(void *arg)
{
	static const uint8_t settings[9] = {[3] = 4};
	int fd = *(int *)arg, connection;

	assert_int_equal(listen(fd, 8), 0);
	connection = accept(fd, NULL, NULL);
	assert_return_code(connection, errno);
	assert_int_equal(write(connection, settings, sizeof(settings)), sizeof(settings));
	return (void *)(intptr_t)connection;
}

/* A socket with an address that nobody listens at yet. */
static int deaf_server(char *address, size_t len)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t in_len = sizeof(in);

	assert_return_code(fd, errno);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &in_len), 0);
	snprintf(address, len, "127.0.0.1:%d", ntohs(in.sin_port));
	return fd;
}

/* A connection that is refused is waited for, and stands as soon as somebody listens; a server that
 * takes it and says nothing was reached. */
static void test_back_again(void **state _unused_)
{
	Rawstack__V1__StackBatch request = RAWSTACK__V1__STACK_BATCH__INIT;
	_cleanup_(ship_endpoint_close) struct ship_endpoint e, other;
	Rawstack__V1__SymbolizedBatch *reply;
	struct ship_route route;
	pthread_t thread;
	char address[32];
	int fd = deaf_server(address, sizeof(address)), silent;
	struct err err;
	void *connection;

	assert_int_equal(ship_route_init(&route, address, NULL, NULL, &err), 0);
	ship_endpoint_init(&e, &route, NULL);
	assert_false(ship_endpoint_is_unreachable(&e));
	/* On a machine that is held up the time may be over before the refusal comes. */
	do
		assert_int_equal(ship_endpoint_call(&e, &request, TIMEOUT_MAX_MS, &reply, &err),
				 ERR_UNAVAILABLE);
	while (!ship_endpoint_is_unreachable(&e));
	assert_non_null(strstr(err.message, "cannot connect"));
	assert_int_equal(ship_endpoint_await(&e, 10), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve_once, &fd), 0);
	/* Ends when it stands, or by the time limit of the test. */
	while (!ship_endpoint_await(&e, TIMEOUT_MAX_MS))
		;
	assert_int_equal(pthread_join(thread, &connection), 0);
	close((int)(intptr_t)connection);
	close(fd);

	silent = silent_server(address, sizeof(address));
	assert_int_equal(ship_route_init(&route, address, NULL, NULL, &err), 0);
	ship_endpoint_init(&other, &route, NULL);
	assert_int_equal(ship_endpoint_call(&other, &request, TIMEOUT_MS, &reply, &err),
			 ERR_UNAVAILABLE);
	assert_false(ship_endpoint_is_unreachable(&other));
	close(silent);
}

/* All servers are away; whichever comes back is noticed and used, be it the last one tried or not.
 */
static void test_any_back(void **state _unused_)
{
	Rawstack__V1__StackBatch request = RAWSTACK__V1__STACK_BATCH__INIT;

	for (int back = 0; back < 3; back++) {
		_cleanup_(ship_endpoint_close) struct ship_endpoint e;
		char addresses[3][32], list[3 * 32] = "", server[SHIP_ROUTE_SERVER_LEN];
		Rawstack__V1__SymbolizedBatch *reply;
		struct ship_route route;
		pthread_t thread;
		struct err err;
		void *connection;
		int fds[3];

		for (int i = 0; i < 3; i++) {
			fds[i] = deaf_server(addresses[i], sizeof(addresses[i]));
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 i ? "," : "", addresses[i]);
		}
		assert_int_equal(ship_route_init(&route, list, NULL, NULL, &err), 0);
		ship_endpoint_init(&e, &route, NULL);
		assert_int_equal(ship_endpoint_call(&e, &request, TIMEOUT_MAX_MS, &reply, &err),
				 ERR_UNAVAILABLE);
		assert_true(ship_endpoint_is_unreachable(&e));
		assert_int_equal(ship_endpoint_await(&e, 10), 0);
		assert_int_equal(pthread_create(&thread, NULL, serve_once, &fds[back]), 0);
		/* Ends when it stands, or by the time limit of the test. */
		while (!ship_endpoint_await(&e, TIMEOUT_MAX_MS))
			;
		ship_endpoint_server(&e, server);
		assert_string_equal(server, addresses[back]);
		assert_false(ship_endpoint_is_unreachable(&e));
		assert_int_equal(pthread_join(thread, &connection), 0);
		close((int)(intptr_t)connection);
		for (int i = 0; i < 3; i++)
			close(fds[i]);
	}
}

/* --- a server that is busy ------------------------------------------------------------------- */

static int refuse_batch(struct rpc_call *c _unused_, const ProtobufCMessage *request _unused_,
			struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "busy");
}

/* A busy service says when to come back, which the endpoint passes on. */
static void test_asked(void **state _unused_)
{
	static const struct rpc_method method = {
		.path = "/rawstack.v1.Symbolizer/Symbolize",
		.kind = RPC_UNARY,
		.roles = ROLES_KNOWN,
		.request = &rawstack__v1__stack_batch__descriptor,
		.message = refuse_batch,
	};
	static const struct rpc_server_config config = {0};
	Rawstack__V1__StackBatch request = RAWSTACK__V1__STACK_BATCH__INIT;
	_cleanup_(rpc_server_closep) struct rpc_server *server = NULL;
	_cleanup_(ship_endpoint_close) struct ship_endpoint e;
	Rawstack__V1__SymbolizedBatch *reply;
	struct ship_route route;
	char address[32];
	struct err err;
	int port;

	assert_int_equal(rpc_server_open(&server, &config, &err), 0);
	assert_int_equal(rpc_server_add(server, &method, 1, &err), 0);
	assert_int_equal(rpc_server_listen(server, "127.0.0.1:0", &port, &err), 0);
	assert_int_equal(rpc_server_start(server, &err), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	assert_int_equal(ship_route_init(&route, address, NULL, NULL, &err), 0);
	ship_endpoint_init(&e, &route, NULL);
	assert_int_equal(ship_endpoint_call(&e, &request, TIMEOUT_MAX_MS, &reply, &err),
			 ERR_UNAVAILABLE);
	assert_in_range(ship_endpoint_retry_ms(&e), 1, 600000);
	/* A call that nobody answers asks for nothing. */
	rpc_server_close(TAKE_PTR(server));
	assert_int_equal(ship_endpoint_call(&e, &request, TIMEOUT_MAX_MS, &reply, &err),
			 ERR_UNAVAILABLE);
	assert_int_equal(ship_endpoint_retry_ms(&e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_back_again),
		cmocka_unit_test(test_any_back),
		cmocka_unit_test(test_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
