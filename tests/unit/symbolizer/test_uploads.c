/* SPDX-License-Identifier: Apache-2.0 */
/* What clients have of places for uploads and of builders: none may have all of either. */
#include "uploads.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "limits.h"
#include "uploads_priv.h"

#define STATUS(name) RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_##name
#define NS_PER_S     UINT64_C(1000000000)

static uint64_t clock_ns;

static uint64_t stopped_clock(void *ctx _unused_)
{
	return clock_ns;
}

static int no_sync(void *ctx _unused_, int fd _unused_)
{
	return 0;
}

static struct uploads *open_uploads(void)
{
	static struct io io;
	struct uploads *u;
	struct err err;
	int fd;

	assert_int_equal(system("rm -rf data"), 0);
	assert_int_equal(mkdir("data", 0700), 0);
	fd = open("data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (uploads_open(&u, fd, &err))
		fail_msg("%s", err.message);
	close(fd);
	io = *io_system();
	io.mono_ns = stopped_clock;
	io.sync = no_sync;
	clock_ns = 1000 * NS_PER_S;
	u->io = &io;
	return u;
}

static Rawstack__V1__BeginStatus begin(struct uploads *u, uint32_t n, uint32_t client,
				       uint8_t token[static UPLOAD_TOKEN_LEN])
{
	uint8_t id[20] = {1, 2, (uint8_t)n, (uint8_t)(n >> 8)}, sum[32] = {0};
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	Rawstack__V1__BeginStatus status;
	const char *reason;
	uint64_t offset;
	bool passing;

	request.build_id = (ProtobufCBinaryData){sizeof(id), id};
	request.size = 100;
	request.sha256 = (ProtobufCBinaryData){sizeof(sum), sum};
	assert_int_equal(uploads_begin(u, &request, client, &status, token, &offset, &reason,
				       &passing, NULL),
			 0);
	assert_true(status != STATUS(OVER_QUOTA) || passing);
	return status;
}

/* Sends so many of the hundred bytes, and goes. */
static void send(struct uploads *u, const uint8_t *token, size_t len)
{
	static const uint8_t bytes[100];
	struct upload *up;
	uint64_t received;

	assert_int_equal(uploads_attach(u, token, UPLOAD_TOKEN_LEN, &up, NULL), 0);
	assert_int_equal(uploads_append(u, up, up->received, bytes, len, &received, NULL), 0);
	uploads_detach(u, up);
}

static void finish(struct uploads *u, uint32_t n, uint32_t client)
{
	uint8_t token[UPLOAD_TOKEN_LEN];
	enum upload_state state;
	struct build_id id;
	bool waits;

	assert_int_equal(begin(u, n, client, token), STATUS(NEEDED));
	send(u, token, 100);
	assert_int_equal(
		uploads_finish(u, token, sizeof(token), NULL, false, &id, &state, &waits, NULL), 0);
}

/* One client begins all that it may, sends something of each, and leaves them. */
static void test_left(void **state _unused_)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN], mine[UPLOAD_TOKEN_LEN];
	uint32_t n;

	assert_int_equal(begin(u, 5000, 7, mine), STATUS(NEEDED));
	send(u, mine, 50);
	for (n = 0; begin(u, n, 1, token) == STATUS(NEEDED); n++)
		send(u, token, 10);
	/* Others find the last quarter of the places free. */
	assert_int_equal(n, LIMIT_CLIENT_UPLOADS);
	for (; begin(u, n, 2, token) == STATUS(NEEDED); n++)
		send(u, token, 10);
	assert_int_equal(n, LIMIT_UPLOADS - 1);
	/* All are taken. A moment later who has the most makes place, and who has one keeps it. */
	assert_int_equal(begin(u, 1000, 3, token), STATUS(OVER_QUOTA));
	clock_ns += LIMIT_UPLOAD_EMPTY_NS + 1;
	for (n = 1000; n < 1010; n++)
		assert_int_equal(begin(u, n, 3, token), STATUS(NEEDED));
	assert_int_equal(begin(u, 5000, 7, token), STATUS(NEEDED));
	assert_memory_equal(token, mine, sizeof(mine));
	assert_int_equal(begin(u, 0, 1, token), STATUS(OVER_QUOTA)); /* it was the oldest */
	assert_int_equal(begin(u, 20, 1, token), STATUS(NEEDED));    /* has its place still */
	uploads_close(u);
}

/* To begin the same anew, time and again, keeps no place. */
static void test_begun_again(void **state _unused_)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN];

	for (uint32_t n = 0; n < LIMIT_UPLOADS; n++)
		assert_int_equal(begin(u, n, 1 + n % 2, token), STATUS(NEEDED));
	clock_ns += LIMIT_UPLOAD_EMPTY_NS + 1;
	for (uint32_t n = 0; n < LIMIT_UPLOADS; n++)
		assert_int_equal(begin(u, n, 1 + n % 2, token), STATUS(NEEDED));
	assert_int_equal(begin(u, 1000, 3, token), STATUS(NEEDED));
	uploads_close(u);
}

static uint32_t take(struct uploads *u, struct upload **ret)
{
	*ret = uploads_take(u);
	assert_non_null(*ret);
	return (*ret)->client;
}

/* Clients take turns at the one builder, however many builds one of them has queued first. */
static void test_turns(void **state _unused_)
{
	static const uint32_t order[] = {1, 2, 3, 1, 2, 1, 1};
	const struct upload_result done = {0};
	struct uploads *u = open_uploads();
	struct upload *up;

	for (uint32_t n = 0; n < 4; n++)
		finish(u, n, 1);
	for (uint32_t n = 4; n < 6; n++)
		finish(u, n, 2);
	finish(u, 6, 3);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_int_equal(take(u, &up), order[i]);
		uploads_done(u, up, &done);
	}
	uploads_close(u);
}

/* Of two builders one is left to others, at once when they come. */
static void test_last_builder(void **state _unused_)
{
	const struct upload_result done = {0};
	struct upload *first, *second, *third;
	struct uploads *u = open_uploads();

	uploads_set_builders(u, 2);
	for (uint32_t n = 0; n < 3; n++)
		finish(u, n, 1);
	assert_int_equal(take(u, &first), 1);
	finish(u, 3, 2);
	assert_int_equal(take(u, &second), 2);
	uploads_done(u, second, &done);
	finish(u, 4, 3);
	assert_int_equal(take(u, &second), 3);
	uploads_done(u, first, &done);
	assert_int_equal(take(u, &third), 1);
	uploads_done(u, second, &done);
	uploads_done(u, third, &done);
	uploads_close(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_begun_again),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_last_builder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
