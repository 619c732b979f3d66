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

/* Of the disk; 0: as it is. */
static uint64_t disk_free;

static uint64_t tell_free(void *ctx, int fd)
{
	return disk_free ? disk_free : io_system()->free_bytes(ctx, fd);
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
	io.free_bytes = tell_free;
	disk_free = 0;
	clock_ns = 1000 * NS_PER_S;
	u->io = &io;
	return u;
}

static Rawstack__V1__BeginStatus begin_large(struct uploads *u, uint32_t n, uint32_t client,
					     uint64_t size, uint8_t token[static UPLOAD_TOKEN_LEN])
{
	uint8_t id[20] = {1, 2, (uint8_t)n, (uint8_t)(n >> 8)}, sum[32] = {0};
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct upload_begun begun;

	request.build_id = (ProtobufCBinaryData){sizeof(id), id};
	request.size = size;
	request.sha256 = (ProtobufCBinaryData){sizeof(sum), sum};
	assert_int_equal(uploads_begin(u, &request, client, &begun, NULL), 0);
	assert_true(begun.status != STATUS(OVER_QUOTA) || begun.will_pass);
	memcpy(token, begun.token, UPLOAD_TOKEN_LEN);
	return begun.status;
}

static Rawstack__V1__BeginStatus begin(struct uploads *u, uint32_t n, uint32_t client,
				       uint8_t token[static UPLOAD_TOKEN_LEN])
{
	return begin_large(u, n, client, 100, token);
}

enum {
	SEND_MAX = 1 << 20
};

/* Sends so many bytes, and goes. */
static void send(struct uploads *u, const uint8_t *token, size_t len)
{
	static const uint8_t bytes[SEND_MAX];
	struct upload *up;
	uint64_t received;

	assert_int_equal(uploads_attach(u, token, UPLOAD_TOKEN_LEN, &up, NULL), 0);
	assert_int_equal(uploads_append(u, up, up->received, bytes, len, &received, NULL), 0);
	uploads_detach(u, up);
}

static void finish_large(struct uploads *u, uint32_t n, uint32_t client, size_t size)
{
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct upload_finished finished;

	assert_int_equal(begin_large(u, n, client, size, token), STATUS(NEEDED));
	for (size_t sent = 0, len; sent < size; sent += len) {
		len = size - sent < SEND_MAX ? size - sent : SEND_MAX;
		send(u, token, len);
	}
	assert_int_equal(uploads_finish(u, token, sizeof(token), NULL, false, &finished, NULL), 0);
}

static void finish(struct uploads *u, uint32_t n, uint32_t client)
{
	finish_large(u, n, client, 100);
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
	/* All are taken. Who has none gets one at once, the next only a moment later, of who has
	 * the most; and who has one keeps it. */
	assert_int_equal(begin(u, 1000, 3, token), STATUS(NEEDED));
	assert_int_equal(begin(u, 1001, 3, token), STATUS(OVER_QUOTA));
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

/* Sends more by a stream. */
static int stream(struct uploads *u, struct upload *up, size_t len, struct err *err)
{
	static const uint8_t bytes[64 << 10];
	uint64_t received;
	int rc = 0;

	for (size_t n; !rc && len; len -= n) {
		n = len < sizeof(bytes) ? len : sizeof(bytes);
		rc = uploads_append(u, up, up->received, bytes, n, &received, err);
		if (!rc)
			disk_free -= n;
	}
	return rc;
}

/* One who waits for a build. */
struct waiting {
	struct upload_waiter waiter;
	int code; /* how it ended; 1: not yet */
};

static void note_end(struct upload_waiter *w, const struct upload_result *result)
{
	struct waiting *waiting = (struct waiting *)w;

	assert_int_equal(waiting->code, 1);
	waiting->code = result->code;
}

/* Sends a whole upload and waits for its build, or, without `w`, asks for a ticket. */
static int complete(struct uploads *u, uint32_t n, uint32_t client, struct waiting *w,
		    uint8_t token[static UPLOAD_TOKEN_LEN])
{
	struct upload_finished finished;

	if (w)
		*w = (struct waiting){.waiter.done = note_end, .code = 1};
	assert_int_equal(begin(u, n, client, token), STATUS(NEEDED));
	send(u, token, 100);
	return uploads_finish(u, token, UPLOAD_TOKEN_LEN, w ? &w->waiter : NULL, w != NULL,
			      &finished, NULL);
}

/* Forty clients fill all places with what waits for builds, with tickets and without; each who
 * comes and has none gets one at once, and no ticket is broken. */
static void test_queue_full(void **state _unused_)
{
	enum {
		CLIENTS = 40,
		NEW = 60,
		WAITING = 50,
	};
	static struct waiting waiting[WAITING];
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN];
	size_t tickets = 0, told = 0, kept = 0;
	struct upload *up;
	uint32_t n = 0;

	for (; n < WAITING; n++)
		assert_int_equal(complete(u, n, 1 + n % CLIENTS, &waiting[n], token), 0);
	for (; n < LIMIT_UPLOADS; n++) {
		int rc = complete(u, n, 1 + n % CLIENTS, NULL, token);

		assert_true(!rc || rc == ERR_UNAVAILABLE);
		tickets += !rc;
	}
	/* All clients have their share, and there are some left. */
	assert_in_range(tickets, CLIENTS, LIMIT_UPLOAD_TICKETS - 1);
	for (uint32_t i = 0; i < NEW; i++)
		assert_int_equal(begin(u, 1000 + i, 1000 + i, token), STATUS(NEEDED));
	assert_int_equal(begin(u, 3000, 1, token), STATUS(OVER_QUOTA));
	assert_int_equal(complete(u, 1000, 1000, NULL, token), 0);
	/* The newest went first, of who had most. */
	for (uint32_t i = 0; i < WAITING; i++) {
		assert_true(waiting[i].code == 1 || waiting[i].code == ERR_UNAVAILABLE);
		told += waiting[i].code == ERR_UNAVAILABLE;
	}
	assert_true(told < WAITING);
	for (up = u->list; up; up = up->next)
		kept += up->promised;
	assert_int_equal(kept, tickets + 1);
	uploads_close(u);
}

/* Who has the most loses the newest, though a stream brings it or somebody waits for its build, and
 * is told to come again. */
static void test_displaced(void **state _unused_)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct waiting waits;
	struct upload *up;
	struct err err;
	uint32_t n;

	for (n = 0; n < LIMIT_CLIENT_UPLOADS - 2; n++)
		assert_int_equal(begin(u, n, 1, token), STATUS(NEEDED));
	for (; n < LIMIT_UPLOADS - 2; n++)
		assert_int_equal(begin(u, n, 2, token), STATUS(NEEDED));
	assert_int_equal(complete(u, n++, 1, &waits, token), 0);
	assert_int_equal(begin(u, n++, 1, token), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, token, sizeof(token), &up, &err), 0);
	assert_int_equal(begin(u, 1000, 3, token), STATUS(NEEDED));
	assert_int_equal(stream(u, up, 10, &err), ERR_UNAVAILABLE);
	uploads_detach(u, up);
	assert_int_equal(waits.code, 1);
	assert_int_equal(begin(u, 1001, 4, token), STATUS(NEEDED));
	assert_int_equal(waits.code, ERR_UNAVAILABLE);
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

/* Many connections of one who floods, each with large files: a small one goes before all that wait,
 * and so does the next. The large ones have their turns, however many small ones come. */
static void test_small_first(void **state _unused_)
{
	enum {
		FLOOD = 20,
		SIZE = 256 << 10,
		SMALL_ONES = 150,
	};
	const struct upload_result done = {0};
	struct uploads *u = open_uploads();
	struct upload *up;
	uint32_t n = 0, large = 0;

	for (; n < 2 * FLOOD; n++)
		finish_large(u, n, 1 + n % FLOOD, SIZE);
	assert_in_range(take(u, &up), 1, FLOOD);
	finish(u, n++, 1000);
	finish(u, n++, 1000);
	uploads_done(u, up, &done);
	assert_int_equal(take(u, &up), 1000);
	uploads_done(u, up, &done);
	for (uint32_t i = 0; i < SMALL_ONES; i++) {
		finish(u, n++, 2000 + i);
		large += take(u, &up) <= FLOOD;
		uploads_done(u, up, &done);
	}
	assert_in_range(large, FLOOD, SMALL_ONES - FLOOD);
	uploads_close(u);
}

/* Who comes anew each time is not before who was here before. */
static void test_always_new(void **state _unused_)
{
	const struct upload_result done = {0};
	struct uploads *u = open_uploads();
	struct upload *up;
	uint32_t n = 0, passed = 0;

	finish(u, n++, 1);
	assert_int_equal(take(u, &up), 1);
	uploads_done(u, up, &done);
	for (uint32_t i = 0; i < 5; i++)
		finish(u, n++, 100 + i);
	finish(u, n++, 1);
	for (uint32_t client = 200; take(u, &up) != 1 && passed < 100; client++, passed++) {
		uploads_done(u, up, &done);
		finish(u, n++, client);
	}
	assert_int_equal(passed, 5);
	uploads_done(u, up, &done);
	uploads_close(u);
}

static bool is_above_100(uint32_t client)
{
	return client > 100;
}

/* Those who come, leave a build and go have the turns of one client. */
static void test_gone(void **state _unused_)
{
	const struct upload_result done = {0};
	struct uploads *u = open_uploads();
	uint32_t order[8], n;
	struct upload *up;

	uploads_set_connected(u, is_above_100);
	for (n = 0; n < 6; n++)
		finish(u, n, 1 + n);
	finish(u, n++, 101);
	finish(u, n++, 101);
	for (uint32_t i = 0; i < n; i++) {
		order[i] = take(u, &up) == 101;
		uploads_done(u, up, &done);
	}
	/* Turn by turn. */
	assert_true(order[1] && order[3]);
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

/* An identity has at most as many builders as its quota says, whatever connections it comes by. */
static void test_owner(void **state _unused_)
{
	const struct upload_result done = {0};
	struct upload *first, *second;
	struct uploads *u = open_uploads();

	uploads_set_builders(u, 4);
	for (uint32_t n = 0; n < 3; n++) {
		const struct upload *up;

		finish(u, n, n + 1);
		for (up = u->list; up->client != n + 1; up = up->next)
			;
		uploads_own(u, up->token, &(struct upload_owner){.key = 77, .builds = 1});
	}
	finish(u, 3, 9);
	assert_int_equal(take(u, &first), 1);
	assert_int_equal(take(u, &second), 9); /* not 2 or 3, which wait for the first */
	uploads_done(u, second, &done);
	uploads_done(u, first, &done);
	assert_int_equal(take(u, &first), 2);
	uploads_done(u, first, &done);
	assert_int_equal(take(u, &first), 3);
	uploads_done(u, first, &done);
	uploads_close(u);
}

enum {
	STREAMS = 5,
};

static const uint64_t evil_sizes[STREAMS] = {GIB, 600 * MIB, 80 * MIB, 40 * MIB, 20 * MIB};

/* Five streams that trickle, of sizes that fill the disk: what they have said to bring is nobody's
 * loss, neither at once nor later, and goes on as long as there is room. */
static void test_promised_away(void **state _unused_)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct upload *evil[STREAMS];
	struct err err;

	disk_free = LIMIT_DISK_FLOOR + 1770 * MIB;
	for (uint32_t n = 0; n < STREAMS; n++) {
		assert_int_equal(begin_large(u, n, 1, evil_sizes[n], token), STATUS(NEEDED));
		assert_int_equal(uploads_attach(u, token, sizeof(token), &evil[n], &err), 0);
		assert_int_equal(stream(u, evil[n], 65536, &err), 0);
	}
	/* Against its own the client's promises count. */
	assert_int_equal(begin_large(u, 100, 1, 50 * MIB, token), STATUS(OVER_QUOTA));
	for (uint32_t s = 0; s < 100; s++) {
		assert_int_equal(begin_large(u, 1000 + s, 2 + s, 50 * MIB, token), STATUS(NEEDED));
		clock_ns += NS_PER_S;
		for (uint32_t n = 0; n < STREAMS; n++)
			assert_int_equal(stream(u, evil[n], 1000, &err), 0);
	}
	assert_int_equal(begin_large(u, 2000, 3000, 1500 * MIB, token), STATUS(NEEDED));
	for (uint32_t n = 0; n < STREAMS; n++)
		uploads_detach(u, evil[n]);
	uploads_close(u);
}

/* An upload that goes on has the room for all of itself. Who is slow waits for it, with what it
 * brought, and goes on when there is room again. */
static void test_promised(void **state _unused_)
{
	struct upload *fast, *slow;
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN], again[UPLOAD_TOKEN_LEN];
	uint64_t before;
	struct err err;

	disk_free = LIMIT_DISK_FLOOR + 100 * MIB;
	assert_int_equal(begin_large(u, 1, 1, 90 * MIB, token), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, token, sizeof(token), &slow, &err), 0);
	assert_int_equal(begin_large(u, 2, 2, 30 * MIB, token), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, token, sizeof(token), &fast, &err), 0);
	for (uint32_t s = 0; s < 30; s++) {
		clock_ns += NS_PER_S;
		assert_int_equal(stream(u, slow, 5000, &err), 0);
		assert_int_equal(stream(u, fast, 65536, &err), 0);
	}
	/* In ten minutes it is done: nobody else has the room. */
	assert_int_equal(begin_large(u, 3, 3, 80 * MIB, again), STATUS(OVER_QUOTA));
	assert_int_equal(begin_large(u, 3, 3, 60 * MIB, again), STATUS(NEEDED));

	/* Something else fills the disk. */
	before = disk_free;
	disk_free = LIMIT_DISK_FLOOR + 29 * MIB;
	assert_int_equal(stream(u, slow, 5000, &err), ERR_LIMIT);
	assert_int_equal(stream(u, fast, 65536, &err), 0);
	disk_free = LIMIT_DISK_FLOOR + 4000;
	assert_int_equal(stream(u, fast, 65536, &err), ERR_LIMIT);
	assert_non_null(strstr(err.message, "No space"));
	disk_free = before;
	assert_int_equal(slow->received, 30 * 5000);
	assert_int_equal(stream(u, slow, 5000, &err), 0);
	assert_int_equal(stream(u, fast, 30 * MIB - fast->received, &err), 0);

	/* What others brought fills it. */
	disk_free = LIMIT_DISK_FLOOR + 65 * MIB;
	assert_int_equal(stream(u, slow, 5000, &err), 0);
	disk_free = LIMIT_DISK_FLOOR + 4000;
	assert_int_equal(stream(u, slow, 5000, &err), ERR_LIMIT);
	disk_free = LIMIT_DISK_FLOOR + 60 * MIB + 4000;
	assert_int_equal(stream(u, slow, 5000, &err), 0);
	uploads_detach(u, slow);
	assert_int_equal(begin_large(u, 1, 4, 90 * MIB, again), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, again, sizeof(again), &slow, &err), 0);
	assert_int_equal(slow->received, 33 * 5000);
	uploads_detach(u, slow);
	uploads_detach(u, fast);
	uploads_close(u);
}

/* Streams that both go on, one of them too many for the disk: it is to come again when the other is
 * built, and both have what they sent. */
static void test_late(void **state _unused_)
{
	const struct upload_result done = {0};
	struct upload *first, *second, *built;
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN], mine[UPLOAD_TOKEN_LEN];
	struct upload_finished finished;
	struct err err;

	disk_free = LIMIT_DISK_FLOOR + 3 * MIB;
	assert_int_equal(begin_large(u, 1, 1, 2 * MIB, mine), STATUS(NEEDED));
	assert_int_equal(begin_large(u, 2, 2, 2 * MIB, token), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, mine, sizeof(mine), &first, &err), 0);
	assert_int_equal(uploads_attach(u, token, sizeof(token), &second, &err), 0);
	assert_int_equal(stream(u, first, MIB, &err), 0);
	assert_int_equal(stream(u, second, MIB, &err), 0);
	assert_int_equal(stream(u, first, MIB, &err), 0);
	assert_int_equal(stream(u, second, MIB, &err), ERR_UNAVAILABLE);
	assert_int_equal(second->received, MIB);
	uploads_detach(u, first);
	assert_int_equal(uploads_finish(u, mine, sizeof(mine), NULL, false, &finished, &err), 0);
	built = uploads_take(u);
	assert_ptr_equal(built, first);
	uploads_done(u, built, &done);
	disk_free += 2 * MIB;
	assert_int_equal(stream(u, second, MIB, &err), 0);
	uploads_detach(u, second);
	uploads_close(u);
}

/* Begins to send one id as a content of its own. */
static Rawstack__V1__BeginStatus begin_content(struct uploads *u, uint8_t content, uint32_t client,
					       uint8_t token[static UPLOAD_TOKEN_LEN])
{
	uint8_t id[20] = {9, 9}, sum[32] = {content};
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct upload_begun begun;

	request.build_id = (ProtobufCBinaryData){sizeof(id), id};
	request.size = MIB;
	request.sha256 = (ProtobufCBinaryData){sizeof(sum), sum};
	assert_int_equal(uploads_begin(u, &request, client, &begun, NULL), 0);
	memcpy(token, begun.token, UPLOAD_TOKEN_LEN);
	return begun.status;
}

/* Who comes by two connections in turn: one stream trickles, the other takes its place when it
 * ends. The honest one asks once a second, and has to wait no longer than for one stream. */
static void send_in_turn(bool finishes, bool same_content)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN], mine[UPLOAD_TOKEN_LEN];
	struct upload *evil = NULL;
	uint32_t seconds;
	struct err err;

	for (seconds = 0; seconds < 300; seconds++) {
		uint32_t turn = seconds / 7;

		if (seconds % 7 == 0) {
			if (evil)
				uploads_detach(u, evil);
			if (evil && finishes)
				uploads_done(u, evil, &(struct upload_result){0});
			assert_int_equal(begin_content(u, same_content ? 1 : 10 + (uint8_t)turn,
						       1 + turn % 2, token),
					 STATUS(NEEDED));
			assert_int_equal(uploads_attach(u, token, sizeof(token), &evil, &err), 0);
		}
		assert_int_equal(stream(u, evil, 100, &err), 0);
		clock_ns += NS_PER_S;
		if (begin_content(u, 1, 3, mine) == STATUS(NEEDED))
			break;
	}
	assert_in_range(seconds, LIMIT_UPLOAD_ALONE_NS / NS_PER_S - 1,
			LIMIT_UPLOAD_ALONE_NS / NS_PER_S + 3);
	assert_int_equal(stream(u, evil, 100, &err), 0);
	assert_memory_not_equal(token, mine, sizeof(mine));
	uploads_detach(u, evil);
	uploads_close(u);
}

static void test_in_turn(void **state _unused_)
{
	send_in_turn(false, false);
	send_in_turn(true, false);
	send_in_turn(true, true);
}

/* An upload that lay for a while is the first of its id again: nobody goes on beside it at once. */
static void test_after_a_pause(void **state _unused_)
{
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct upload *up;
	struct err err;

	assert_int_equal(begin_content(u, 1, 1, token), STATUS(NEEDED));
	clock_ns += 100 * NS_PER_S;
	assert_int_equal(begin_content(u, 1, 1, token), STATUS(NEEDED));
	assert_int_equal(uploads_attach(u, token, sizeof(token), &up, &err), 0);
	assert_int_equal(stream(u, up, 100, &err), 0);
	clock_ns += LIMIT_UPLOAD_ALONE_NS / 2;
	assert_int_equal(begin_content(u, 1, 2, token), STATUS(IN_PROGRESS));
	assert_int_equal(begin_content(u, 2, 2, token), STATUS(IN_PROGRESS));
	uploads_detach(u, up);
	uploads_close(u);
}

/* A file that is here whole, as was declared, is not sent again while it waits for its turn. One
 * that only says so, or another content, does not keep anybody from sending. */
static void test_waits_for_build(void **state _unused_)
{
	static const uint8_t content[100];
	uint8_t sum[DIGEST_LEN], id[20] = {9, 9};
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct uploads *u = open_uploads();
	struct upload_finished finished;
	struct upload_begun begun;

	digest_sha256(content, sizeof(content), sum);
	request.build_id = (ProtobufCBinaryData){sizeof(id), id};
	request.size = sizeof(content);
	request.sha256 = (ProtobufCBinaryData){sizeof(sum), sum};
	for (int lies = 0; lies < 2; lies++) {
		sum[0] ^= (uint8_t)lies;
		id[0] = (uint8_t)lies;
		assert_int_equal(uploads_begin(u, &request, 1, &begun, NULL), 0);
		assert_int_equal(begun.status, STATUS(NEEDED));
		send(u, begun.token, sizeof(content));
		assert_int_equal(uploads_finish(u, begun.token, UPLOAD_TOKEN_LEN, NULL, false,
						&finished, NULL),
				 0);
		clock_ns += LIMIT_UPLOAD_ALONE_NS;
		assert_int_equal(uploads_begin(u, &request, 2, &begun, NULL), 0);
		assert_int_equal(begun.status, lies ? STATUS(NEEDED) : STATUS(IN_PROGRESS));
	}
	assert_true(uploads_is_building(u, &finished.id));
	sum[1] ^= 1;
	id[0] = 0;
	assert_int_equal(uploads_begin(u, &request, 2, &begun, NULL), 0);
	assert_int_equal(begun.status, STATUS(NEEDED));
	assert_true(uploads_is_building(u, &finished.id));
	uploads_close(u);
}

/* Wrong bytes under the SHA-256 of another's file spoil it once: then he sends all of it. */
static void test_spoiled(void **state _unused_)
{
	static const struct upload_result wrong = {.code = ERR_UNAVAILABLE};
	struct uploads *u = open_uploads();
	uint8_t token[UPLOAD_TOKEN_LEN], mine[UPLOAD_TOKEN_LEN];
	struct upload_finished finished;

	assert_int_equal(begin_content(u, 1, 1, token), STATUS(NEEDED));
	send(u, token, 10);
	assert_int_equal(begin_content(u, 1, 2, mine), STATUS(NEEDED));
	assert_memory_equal(token, mine, sizeof(mine));
	send(u, mine, MIB - 10);
	assert_int_equal(uploads_finish(u, mine, sizeof(mine), NULL, false, &finished, NULL), 0);
	assert_true(u->list->mixed);
	uploads_done(u, uploads_take(u), &wrong);
	assert_int_equal(begin_content(u, 1, 1, token), STATUS(NEEDED));
	send(u, token, 10);
	assert_int_equal(begin_content(u, 1, 2, mine), STATUS(NEEDED));
	assert_memory_not_equal(token, mine, sizeof(mine));
	send(u, mine, 20);
	assert_int_equal(begin_content(u, 1, 2, token), STATUS(NEEDED));
	assert_memory_equal(token, mine, sizeof(mine)); /* his own he goes on with */
	uploads_close(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left),          cmocka_unit_test(test_begun_again),
		cmocka_unit_test(test_promised_away), cmocka_unit_test(test_promised),
		cmocka_unit_test(test_late),          cmocka_unit_test(test_turns),
		cmocka_unit_test(test_small_first),   cmocka_unit_test(test_always_new),
		cmocka_unit_test(test_gone),          cmocka_unit_test(test_last_builder),
		cmocka_unit_test(test_owner),         cmocka_unit_test(test_queue_full),
		cmocka_unit_test(test_displaced),     cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_after_a_pause), cmocka_unit_test(test_waits_for_build),
		cmocka_unit_test(test_spoiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
