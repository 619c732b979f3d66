/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_FIXTURE_H
#define RAWSTACK_STORE_FIXTURE_H
/* A store of the current folder, by either engine, for tests that run on both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "store.h"

enum {
	BUDGET = 4 << 20,
	FORMAT = 3,
};

struct engine {
	const char *name;
	bool durable;
};

static const struct engine lmdb = {"lmdb", true}, memory = {"memory", false};

static inline struct store *open_budget(const struct engine *e, uint64_t max)
{
	struct store *s = NULL;
	struct kv *kv;
	struct err err;
	int rc = e->durable ? store_kv_open_lmdb(&kv, ".", max, 0, &err)
			    : store_kv_open_memory(&kv, max, &err);

	if (rc || store_open(&s, kv, max, FORMAT, &err))
		fail_msg("%s", err.message);
	return s;
}

/* *state: the engine. */
static inline struct store *open_fresh(void **state)
{
	unlink("store.mdb");
	unlink("store.mdb-lock");
	return open_budget(*state, BUDGET);
}

static inline struct build_id id_of(uint32_t n)
{
	const uint8_t bytes[20] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

#endif
