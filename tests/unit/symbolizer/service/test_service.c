/* SPDX-License-Identifier: Apache-2.0 */
/* The service's methods without connections: uploads, pages, pins. Builds: test_service_builds.c.
 */
#include "service.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "digest.h"
#include "limits.h"
#include "service_fixture.h"
#include "uploads_priv.h"

#define BEGIN(name) RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_##name

enum {
	ROWS = 250,
	PAGE = 100,
};

#define NS_PER_S UINT64_C(1000000000)

static struct service *open_service(bool memory)
{
	return open_with(&(struct service_config){
		.data_dir = "data", .store_bytes = 64 << 20, .memory_store = memory});
}

static struct service *open_fresh(void)
{
	assert_int_equal(system("rm -rf data"), 0);
	return open_service(true);
}

/* --- pages and pins -------------------------------------------------------------------------- */

/* All rows, page by page; how many pages. */
static size_t list_all(struct service *s, Rawstack__V1__ListRequest *request, uint32_t *rows,
		       size_t *count)
{
	size_t pages = 0;

	*count = 0;
	for (;;) {
		Rawstack__V1__ListReply reply = RAWSTACK__V1__LIST_REPLY__INIT;
		struct err err;

		if (service_list(s, request, NULL, &arena, &reply, &err))
			fail_msg("%s", err.message);
		assert_in_range(reply.n_binaries, 0, request->page_size ? LIMIT_PAGE : PAGE);
		for (size_t i = 0; i < reply.n_binaries; i++) {
			const uint8_t *p = reply.binaries[i]->build_id.data;

			rows[(*count)++] = (uint32_t)p[6] << 8 | p[7];
		}
		pages++;
		if (!reply.next_page_token.len)
			return pages;
		request->page_token = reply.next_page_token;
	}
}

static void test_list(void **state _unused_)
{
	struct service *s = open_fresh();
	Rawstack__V1__ListRequest request = RAWSTACK__V1__LIST_REQUEST__INIT;
	Rawstack__V1__Label label = RAWSTACK__V1__LABEL__INIT, *labels = &label;
	struct build_id gone = id_of(77);
	uint32_t rows[ROWS];
	size_t count;
	struct err err;

	for (uint32_t n = ROWS; n-- > 0;)
		put(s, n, n == 5 ? STORE_FAILED : STORE_READY, n % 50 ? "main" : "release");
	assert_int_equal(list_all(s, &request, rows, &count), 3);
	assert_int_equal(count, ROWS);
	for (uint32_t n = 0; n < ROWS; n++)
		assert_int_equal(rows[n], n);

	/* What was purged is not a row, what failed is one. */
	assert_int_equal(store_purge(s->store, &gone, &err), 1);
	rawstack__v1__list_request__init(&request);
	request.page_size = 1000000; /* at most a page of ours */
	list_all(s, &request, rows, &count);
	assert_int_equal(count, ROWS - 1);
	assert_int_equal(rows[5], 5);
	assert_int_equal(rows[77], 78);

	rawstack__v1__list_request__init(&request);
	label.key = text("branch");
	label.value = text("release");
	request.labels = &labels;
	request.n_labels = 1;
	list_all(s, &request, rows, &count);
	assert_int_equal(count, 5);
	assert_int_equal(rows[1], 50);
	request.name = text("another");
	list_all(s, &request, rows, &count);
	assert_int_equal(count, 0);
	request.page_token = text("x");
	assert_int_equal(service_list(s, &request, NULL, &arena,
				      &(Rawstack__V1__ListReply)RAWSTACK__V1__LIST_REPLY__INIT,
				      &err),
			 ERR_DATA);
	assert_true(service_close(s));
}

/* Waits for so many looks at whether it does, and no longer. */
static bool has_gone(void *arg)
{
	int *looks = arg;

	return --*looks < 0;
}

/* What looks at everything there is stops when nobody waits for it, wherever it is. */
static void test_nobody_waits(void **state _unused_)
{
	struct service *s = open_fresh();
	Rawstack__V1__ListRequest list = RAWSTACK__V1__LIST_REQUEST__INIT;
	Rawstack__V1__ResolveRequest resolve;
	Rawstack__V1__ResolveReply found;
	Rawstack__V1__MissingRequest missing = RAWSTACK__V1__MISSING_REQUEST__INIT;
	int looks;
	const struct service_caller caller = {has_gone, &looks, 0};

	rawstack__v1__resolve_request__init(&resolve);
	list.name = resolve.name = text("no program of these");
	for (uint32_t n = 0; n < ROWS; n++) {
		struct store_missing m = {.id = id_of(ROWS + n), .weight = 1, .last_ns = 5};

		put(s, n, STORE_READY, "main");
		assert_int_equal(
			store_note_missing(s->store, (struct kv_bytes){NULL, 0}, &m, 1, NULL), 0);
	}
	for (int most = 0; most < ROWS; most += 99) {
		Rawstack__V1__ListReply rows = RAWSTACK__V1__LIST_REPLY__INIT;
		Rawstack__V1__MissingReply ids = RAWSTACK__V1__MISSING_REPLY__INIT;

		rawstack__v1__resolve_reply__init(&found);
		looks = most;
		assert_int_equal(service_list(s, &list, &caller, &arena, &rows, NULL),
				 ERR_CANCELLED);
		assert_int_equal(looks, -1); /* and looked no further */
		looks = most;
		assert_int_equal(service_resolve(s, &resolve, &caller, &arena, &found, NULL),
				 ERR_CANCELLED);
		assert_int_equal(looks, -1);
		looks = most;
		assert_int_equal(service_missing(s, &missing, &caller, &arena, &ids, NULL),
				 ERR_CANCELLED);
		assert_int_equal(looks, -1);
	}
	looks = ROWS;
	rawstack__v1__resolve_reply__init(&found);
	assert_int_equal(service_resolve(s, &resolve, &caller, &arena, &found, NULL),
			 ERR_NOT_FOUND);
	assert_true(service_close(s));
}

/* By falling weight, then by id; a page begins behind the last row of the one before. */
static void test_missing(void **state _unused_)
{
	struct service *s = open_fresh();
	Rawstack__V1__MissingRequest request = RAWSTACK__V1__MISSING_REQUEST__INIT;
	uint64_t last = UINT64_MAX;
	uint32_t last_id = 0;
	size_t count = 0, pages = 0;
	struct err err;

	put(s, 3, STORE_FAILED, "");
	for (uint32_t n = 0; n < ROWS; n++) {
		struct store_missing m = {.id = id_of(n), .weight = 1 + n % 10, .last_ns = 5};

		assert_int_equal(
			store_note_missing(s->store, (struct kv_bytes){NULL, 0}, &m, 1, &err), 0);
	}
	do {
		Rawstack__V1__MissingReply reply = RAWSTACK__V1__MISSING_REPLY__INIT;

		if (service_missing(s, &request, NULL, &arena, &reply, &err))
			fail_msg("%s", err.message);
		for (size_t i = 0; i < reply.n_binaries; i++) {
			const Rawstack__V1__MissingBinary *m = reply.binaries[i];
			uint32_t id = (uint32_t)m->build_id.data[6] << 8 | m->build_id.data[7];

			assert_true(m->weight < last || (m->weight == last && id > last_id));
			assert_int_equal(m->weight, 1 + id % 10);
			assert_int_equal(
				m->status,
				id == 3 ? RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_FAILED
					: RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_MISSING);
			last = m->weight;
			last_id = id;
			count++;
		}
		request.page_token = reply.next_page_token;
		pages++;
	} while (request.page_token.len);
	assert_int_equal(count, ROWS);
	assert_int_equal(pages, 3);
	assert_true(service_close(s));
}

static void test_pin(void **state _unused_)
{
	struct service *s = open_fresh();
	Rawstack__V1__PinRequest request = RAWSTACK__V1__PIN_REQUEST__INIT;
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	struct build_id id = id_of(1), other = id_of(2);
	Rawstack__V1__Binary *binary;
	struct err err;

	put(s, 1, STORE_READY, "main");
	put(s, 2, STORE_FAILED, "main");
	for (int pinned = 1; pinned >= 0; pinned--) {
		request.build_id = get.build_id = bytes_of_id(&id);
		request.pinned = pinned;
		assert_int_equal(service_pin(s, &request, &err), 0);
		assert_int_equal(service_get(s, &get, &arena, &binary, &err), 0);
		assert_int_equal(binary->pinned, pinned);
		request.build_id = bytes_of_id(&other); /* has no table */
		assert_int_equal(service_pin(s, &request, &err), ERR_NOT_FOUND);
	}
	request.build_id = text("x");
	assert_int_equal(service_pin(s, &request, &err), ERR_DATA);
	assert_true(service_close(s));
}

/* --- uploads --------------------------------------------------------------------------------- */

static Rawstack__V1__BeginRequest begin_of(uint32_t n, uint64_t size, uint8_t sum)
{
	Rawstack__V1__BeginRequest r = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct build_id id = id_of(n);

	r.build_id = bytes_of_id(&id);
	r.size = size;
	r.sha256 = (ProtobufCBinaryData){DIGEST_LEN, arena_alloc(&arena, DIGEST_LEN)};
	memset(r.sha256.data, sum, DIGEST_LEN);
	return r;
}

static uint32_t asker;

static Rawstack__V1__BeginReply begin(struct service *s, uint32_t n, uint64_t size, uint8_t sum)
{
	Rawstack__V1__BeginRequest request = begin_of(n, size, sum);
	Rawstack__V1__BeginReply reply = RAWSTACK__V1__BEGIN_REPLY__INIT;
	struct err err;

	if (service_begin(s, &request, asker, &arena, &reply, &err))
		fail_msg("%s", err.message);
	return reply;
}

static int send(struct service *s, struct upload **up, ProtobufCBinaryData id, uint64_t offset,
		size_t len, struct err *err)
{
	static uint8_t data[4096];
	Rawstack__V1__UploadChunk chunk = RAWSTACK__V1__UPLOAD_CHUNK__INIT;
	uint64_t received;

	assert_in_range(len, 0, sizeof(data));
	chunk.upload_id = id;
	chunk.offset = offset;
	chunk.data = (ProtobufCBinaryData){len, data};
	return service_upload(s, up, &chunk, &received, err);
}

static void test_upload(void **state _unused_)
{
	Rawstack__V1__FinishRequest finish = RAWSTACK__V1__FINISH_REQUEST__INIT;
	Rawstack__V1__FinishReply done = RAWSTACK__V1__FINISH_REPLY__INIT;
	struct upload *up = NULL, *second = NULL;
	struct service *s = open_fresh();
	Rawstack__V1__BeginReply first = begin(s, 1, 1000, 1), again;
	struct err err;
	bool waits;

	assert_int_equal(first.status, BEGIN(NEEDED));
	assert_int_equal(first.offset, 0);
	assert_int_equal(send(s, &up, first.upload_id, 0, 400, &err), 0);
	/* One stream at a time, its chunks in order and not beyond the size. */
	assert_int_equal(begin(s, 1, 1000, 1).status, BEGIN(IN_PROGRESS));
	assert_int_equal(send(s, &second, first.upload_id, 400, 1, &err), ERR_MISMATCH);
	assert_null(second);
	assert_int_equal(send(s, &up, first.upload_id, 399, 1, &err), ERR_DATA);
	assert_int_equal(send(s, &up, first.upload_id, 400, 601, &err), ERR_DATA);
	assert_int_equal(send(s, &up, text("another upload's"), 400, 1, &err), ERR_DATA);
	service_upload_end(s, up);
	up = NULL;
	assert_int_equal(send(s, &up, text("no upload's id.."), 0, 1, &err), ERR_NOT_FOUND);
	finish.upload_id = first.upload_id;
	assert_int_equal(service_finish(s, &finish, NULL, &arena, &done, &waits, &err),
			 ERR_MISMATCH);

	/* The same content goes on, and other content begins anew. */
	again = begin(s, 1, 1000, 1);
	assert_int_equal(again.offset, 400);
	assert_memory_equal(again.upload_id.data, first.upload_id.data, UPLOAD_TOKEN_LEN);
	again = begin(s, 1, 1000, 2);
	assert_int_equal(again.offset, 0);
	assert_int_equal(send(s, &up, first.upload_id, 400, 1, &err), ERR_NOT_FOUND);
	assert_true(service_close(s));
}

/* What was received is there after a restart; what belongs to no upload goes. */
static void test_restart(void **state _unused_)
{
	struct service *s = open_fresh();
	Rawstack__V1__BeginReply first = begin(s, 1, 1000, 1), again;
	struct upload *up = NULL;
	struct dirent *e;
	size_t files = 0;
	struct err err;
	FILE *f;
	DIR *dir;

	assert_int_equal(send(s, &up, first.upload_id, 0, 700, &err), 0);
	service_upload_end(s, up);
	assert_true(service_close(s));
	f = fopen("data/uploads/0123456789abcdef0123456789abcdef.part", "we");
	assert_non_null(f);
	fclose(f);
	s = open_service(true);
	again = begin(s, 1, 1000, 1);
	assert_int_equal(again.offset, 700);
	assert_memory_equal(again.upload_id.data, first.upload_id.data, UPLOAD_TOKEN_LEN);
	dir = opendir("data/uploads");
	assert_non_null(dir);
	while ((e = readdir(dir)))
		files += e->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(files, 2);
	assert_true(service_close(s));
}

static uint64_t clock_ns;

static uint64_t stopped_clock(void *ctx _unused_)
{
	return clock_ns;
}

/* Hundreds of uploads are begun: no disk has to have them for good. */
static int no_sync(void *ctx _unused_, int fd _unused_)
{
	return 0;
}

static struct service *open_with_clock(void)
{
	static struct io io;
	struct service *s = open_fresh();

	io = *io_system();
	io.mono_ns = stopped_clock;
	io.sync = no_sync;
	clock_ns = 1000 * NS_PER_S;
	s->uploads->io = &io;
	return s;
}

static void test_refused(void **state _unused_)
{
	struct service *s = open_with_clock();
	Rawstack__V1__BeginReply reply;

	for (uint32_t n = 0; n < LIMIT_UPLOADS; n++)
		assert_int_equal(begin(s, n, 1000, 1).status, BEGIN(NEEDED));
	reply = begin(s, 1000, 1000, 1);
	assert_int_equal(reply.status, BEGIN(OVER_QUOTA));
	assert_true(reply.reason.len > 0 && reply.upload_id.len == 0);
	assert_in_range(reply.retry_ms, 1, 60000);                    /* others will be done */
	assert_int_equal(begin(s, 3, 1000, 1).status, BEGIN(NEEDED)); /* it has its place */
	assert_true(service_close(s));

	/* Small files, large promises: the disk would be full if all kept them. */
	s = open_with_clock();
	for (uint32_t n = 0; n < LIMIT_UPLOADS; n++) {
		reply = begin(s, n, LIMIT_UPLOAD_LEN, 1);
		if (reply.status == BEGIN(OVER_QUOTA))
			break;
	}
	if (io_system()->free_bytes(NULL, s->data_fd) < LIMIT_UPLOADS * LIMIT_UPLOAD_LEN)
		assert_int_equal(reply.status, BEGIN(OVER_QUOTA));
	assert_true(service_close(s));
}

/* --- uploads, and time ----------------------------------------------------------------------- */

static void pass(uint64_t ns)
{
	clock_ns += ns + 1000000;
}

/* Uploads that somebody begins by the hundred, and nothing more, take the place of nobody's. */
static void test_begun_only(void **state _unused_)
{
	struct service *s = open_with_clock();
	struct upload *up = NULL, *cut = NULL, *none = NULL;
	Rawstack__V1__BeginReply first = begin(s, 0, 1000, 1), half = begin(s, 1, 1000, 1), other;
	struct err err;

	for (uint32_t n = 2; n < LIMIT_UPLOADS; n++)
		other = begin(s, n, 1000, 1);
	assert_int_equal(send(s, &up, first.upload_id, 0, 400, &err), 0);
	assert_int_equal(send(s, &cut, half.upload_id, 0, 400, &err), 0);
	service_upload_end(s, cut);
	assert_int_equal(begin(s, 1000, 1000, 1).status, BEGIN(OVER_QUOTA));
	pass(LIMIT_UPLOAD_EMPTY_NS);
	/* Each takes the place of one that has nothing; what was begun a moment ago stays. */
	for (uint32_t n = 2; n < LIMIT_UPLOADS; n++)
		assert_int_equal(begin(s, 1000 + n, 1000, 1).status, BEGIN(NEEDED));
	assert_int_equal(begin(s, 2000, 1000, 1).status, BEGIN(OVER_QUOTA));
	assert_int_equal(send(s, &none, other.upload_id, 0, 1, &err), ERR_NOT_FOUND);
	assert_int_equal(begin(s, 1, 1000, 1).offset, 400);
	assert_int_equal(send(s, &up, first.upload_id, 400, 10, &err), 0);
	/* In the end what was cut off goes, and even what a stream has that says nothing. */
	for (uint32_t n = 2; n < LIMIT_UPLOADS; n++) {
		other = begin(s, 1000 + n, 1000, 1);
		assert_int_equal(send(s, &none, other.upload_id, 0, 1, &err), 0);
		service_upload_end(s, none);
		none = NULL;
	}
	pass(LIMIT_UPLOAD_SPARE_NS - 3 * NS_PER_S);
	assert_int_equal(begin(s, 3000, 1000, 1).status, BEGIN(OVER_QUOTA));
	pass(3 * NS_PER_S);
	assert_int_equal(begin(s, 3000, 1000, 1).status, BEGIN(NEEDED));
	assert_int_equal(begin(s, 3001, 1000, 1).status, BEGIN(NEEDED));
	assert_int_equal(begin(s, 1, 1000, 1).offset, 0);
	assert_int_equal(send(s, &up, first.upload_id, 410, 10, &err), ERR_MISMATCH);
	service_upload_end(s, up);
	assert_true(service_close(s));
}

/* An id is one upload's for a while; what a stream brought that brings nothing more is not lost. */
static void test_overtaken(void **state _unused_)
{
	struct service *s = open_with_clock();
	Rawstack__V1__BeginReply first = begin(s, 1, 30000, 1), again;
	struct upload *slow = NULL, *next = NULL, *beside = NULL;
	struct err err;

	assert_int_equal(send(s, &slow, first.upload_id, 0, 400, &err), 0);
	pass(LIMIT_UPLOAD_ALONE_NS / 2);
	assert_int_equal(send(s, &slow, first.upload_id, 400, 100, &err), 0);
	assert_int_equal(begin(s, 1, 30000, 1).status, BEGIN(IN_PROGRESS));
	pass(LIMIT_UPLOAD_ALONE_NS / 2);
	again = begin(s, 1, 30000, 1);
	assert_int_equal(again.status, BEGIN(NEEDED));
	assert_int_equal(again.offset, 500);
	assert_memory_equal(again.upload_id.data, first.upload_id.data, UPLOAD_TOKEN_LEN);
	assert_int_equal(send(s, &next, again.upload_id, 500, 1000, &err), 0);
	assert_int_equal(send(s, &slow, first.upload_id, 1500, 1, &err), ERR_MISMATCH);
	service_upload_end(s, slow);
	/* One that goes on keeps what it has. Others wait for it a little, and go on beside it. */
	assert_int_equal(begin(s, 1, 30000, 1).status, BEGIN(IN_PROGRESS));
	for (uint64_t at = 1500; at + 4096 <= 30000; at += 4096) {
		assert_int_equal(send(s, &next, again.upload_id, at, 4096, &err), 0);
		pass(LIMIT_UPLOAD_EMPTY_NS / 2);
	}
	first = begin(s, 1, 30000, 1);
	assert_int_equal(first.status, BEGIN(NEEDED));
	assert_int_equal(first.offset, 0);
	assert_memory_not_equal(again.upload_id.data, first.upload_id.data, UPLOAD_TOKEN_LEN);
	assert_int_equal(send(s, &beside, first.upload_id, 0, 4096, &err), 0);
	assert_int_equal(send(s, &next, again.upload_id, 1500 + 6 * 4096, 1, &err), 0);
	service_upload_end(s, next);
	service_upload_end(s, beside);
	/* Who comes back goes on with what has most. */
	assert_int_equal(begin(s, 1, 30000, 1).offset, 1501 + 6 * 4096);

	/* Other content of the same id does not wait for it either. */
	again = begin(s, 2, 1000, 1);
	slow = NULL;
	assert_int_equal(send(s, &slow, again.upload_id, 0, 100, &err), 0);
	assert_int_equal(begin(s, 2, 1000, 2).status, BEGIN(IN_PROGRESS));
	pass(LIMIT_UPLOAD_ALONE_NS);
	first = begin(s, 2, 1000, 2);
	assert_int_equal(first.status, BEGIN(NEEDED));
	assert_int_equal(first.offset, 0);
	assert_int_equal(send(s, &slow, again.upload_id, 100, 1, &err), 0);
	service_upload_end(s, slow);
	assert_true(service_close(s));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),      cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_missing),   cmocka_unit_test(test_pin),
		cmocka_unit_test(test_upload),    cmocka_unit_test(test_restart),
		cmocka_unit_test(test_refused),   cmocka_unit_test(test_begun_only),
		cmocka_unit_test(test_overtaken),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
