/* SPDX-License-Identifier: Apache-2.0 */
/* Resolve by a name that many binaries have, more than a page of List holds. */
#include "service.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"
#include "service_priv.h"

static struct build_id id_of(uint64_t n)
{
	uint8_t bytes[4] = {1, 2, (uint8_t)(n >> 8), (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static void put(struct service *s, uint64_t n, enum store_status status, uint64_t uploaded_ns)
{
	static uint8_t name[] = "program", table[4096];
	Rawstack__V1__Binary meta = RAWSTACK__V1__BINARY__INIT;
	uint8_t packed[256];
	struct store_binary b = {
		.id = id_of(n), .status = status, .table_len = sizeof(table), .meta = packed};
	struct err err;

	meta.name = (ProtobufCBinaryData){sizeof(name) - 1, name};
	meta.uploaded_unix_ns = uploaded_ns;
	b.meta_len = rawstack__v1__binary__pack(&meta, packed);
	if (store_put(s->store, &b, table, &err))
		fail_msg("%s", err.message);
}

static int resolve(struct service *s, const struct service_caller *caller, struct arena *arena,
		   Rawstack__V1__ResolveReply *reply)
{
	static uint8_t name[] = "program";
	Rawstack__V1__ResolveRequest request;

	rawstack__v1__resolve_request__init(&request);
	rawstack__v1__resolve_reply__init(reply);
	request.name = (ProtobufCBinaryData){sizeof(name) - 1, name};
	return service_resolve(s, &request, caller, arena, reply, NULL);
}

/* The one that is ready, wherever it stands; of several the newest, the newest first. */
static void test_many(void **state _unused_)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(64 << 20);
	const uint64_t rows = LIMIT_PAGE + 50;
	Rawstack__V1__ResolveReply reply;
	struct build_id want = id_of(2 * rows);
	struct service *s;
	struct err err;

	assert_int_equal(service_open(&s,
				      &(struct service_config){.data_dir = "data",
							       .store_bytes = 64 << 20,
							       .memory_store = true},
				      &err),
			 0);
	for (uint64_t n = 0; n < rows; n++)
		put(s, n, STORE_FAILED, 1);
	assert_int_equal(resolve(s, NULL, &arena, &reply), ERR_NOT_FOUND);
	put(s, 2 * rows, STORE_READY, 1);
	assert_int_equal(resolve(s, NULL, &arena, &reply), 0);
	assert_int_equal(reply.n_candidates, 0);
	assert_int_equal(reply.build_id.len, want.len);
	assert_memory_equal(reply.build_id.data, want.bytes, want.len);

	for (uint64_t n = 0; n < rows; n++)
		put(s, n, STORE_READY, n % 7 ? n + 10 : n + 10000);
	assert_int_equal(resolve(s, NULL, &arena, &reply), 0);
	assert_int_equal(reply.build_id.len, 0);
	assert_int_equal(reply.n_candidates, 100);
	for (uint64_t i = 0; i < reply.n_candidates; i++) {
		want = id_of((rows - 1) / 7 * 7 - 7 * i);
		assert_int_equal(reply.candidates[i].len, want.len);
		assert_memory_equal(reply.candidates[i].data, want.bytes, want.len);
	}
	assert_true(service_close(s));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
