/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_FIXTURE_H
#define RAWSTACK_SERVICE_FIXTURE_H
/* What the unit tests of the service share. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service_priv.h"

static struct arena arena = ARENA_INIT(64 << 20);

static inline struct service *open_with(const struct service_config *config)
{
	struct service *s;
	struct err err;

	if (service_open(&s, config, &err))
		fail_msg("%s", err.message);
	return s;
}

static inline struct build_id id_of(uint32_t n)
{
	uint8_t bytes[8] = {
		1, 2, 3, 4, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static inline ProtobufCBinaryData bytes_of_id(const struct build_id *id)
{
	return (ProtobufCBinaryData){id->len, (uint8_t *)arena_copy(&arena, id->bytes, id->len)};
}

static inline ProtobufCBinaryData text(const char *s)
{
	return (ProtobufCBinaryData){strlen(s), (uint8_t *)arena_copy(&arena, s, strlen(s))};
}

static inline void put(struct service *s, uint32_t n, enum store_status status, const char *branch)
{
	static uint8_t table[4096];
	Rawstack__V1__Binary meta = RAWSTACK__V1__BINARY__INIT;
	Rawstack__V1__Label label = RAWSTACK__V1__LABEL__INIT, *labels = &label;
	uint8_t packed[256];
	struct store_binary b = {
		.id = id_of(n), .status = status, .table_len = sizeof(table), .meta = packed};
	struct err err;

	label.key = text("branch");
	label.value = text(branch);
	meta.labels = &labels;
	meta.n_labels = 1;
	meta.name = text("program");
	b.meta_len = rawstack__v1__binary__pack(&meta, packed);
	if (store_put(s->store, &b, table, &err))
		fail_msg("%s", err.message);
}

static inline int teardown(void **state _unused_)
{
	arena_done(&arena);
	return 0;
}

#endif
