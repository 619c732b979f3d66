/* SPDX-License-Identifier: Apache-2.0 */
/* Room in a full store: what has to go lies side by side, and is little more than what comes; what
 * cannot fit drives nothing out, and the message is true. */
#include "store_fixture.h"

#include <string.h>

#include "store_room.h"

enum {
	ROOM_BUDGET = 32 << 20,
	PUTS = 250,
	LARGE = 6 << 20,
};

/* No power is cut here. */
int skip_fdatasync(int fd) __asm__("fdatasync");

__attribute__((visibility("default"))) int skip_fdatasync(int fd _unused_)
{
	return 0;
}

static uint8_t table[ROOM_BUDGET];

static int put(struct store *s, uint32_t n, uint64_t len, bool pinned, struct err *err)
{
	struct store_binary b = {.id = id_of(n),
				 .status = STORE_READY,
				 .table_len = len,
				 .pinned = pinned,
				 .changed_ns = n + 1,
				 .meta = "m",
				 .meta_len = 1};

	memset(table, (int)n, 4096);
	return store_put(s, &b, table, err);
}

static uint64_t bytes_in(struct store *s)
{
	struct store_stat stat;

	store_stat(s, &stat);
	return stat.table_bytes;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Tables of all sizes come and go, and then one that is larger than all of them. */
static void test_evicted(void **state _unused_)
{
	uint64_t before, worst = 0, worst_len = 1, after = 0;
	uint32_t seed = 7;
	struct store *s;
	struct err err;

	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_budget(&lmdb, ROOM_BUDGET);
	for (uint32_t n = 0; n < PUTS; n++) {
		uint64_t len = n % 10 == 9 ? LARGE : 50000 + next_random(&seed) % 900000;

		/* So that those used longest ago lie all over the file. */
		for (uint32_t i = 0; i < 8; i++) {
			const struct build_id used = id_of(next_random(&seed) % (n + 1));

			store_note_used(s, &used, UINT64_C(1000000) + 10 * n + i);
		}
		before = bytes_in(s);
		if (put(s, n, len, false, &err))
			fail_msg("%s", err.message);
		after = bytes_in(s);
		if ((before + len - after) * worst_len > worst * len) {
			worst = before + len - after;
			worst_len = len;
		}
		/* It and, at one end, a table that is larger than it need be. */
		if (before + len - after > len + LARGE + (1 << 20))
			fail_msg("%llu bytes drove %llu out", (unsigned long long)len,
				 (unsigned long long)(before + len - after));
		if (len == LARGE && before + len - after > 2 * len)
			fail_msg("%llu bytes drove %llu out", (unsigned long long)len,
				 (unsigned long long)(before + len - after));
	}
	print_message("%llu bytes drove %llu out at worst; %llu of %d are used\n",
		      (unsigned long long)worst_len, (unsigned long long)worst,
		      (unsigned long long)after, (int)ROOM_BUDGET);
	assert_true(after > ROOM_BUDGET / 2);
	store_close(s);
}

/* Pinned tables all over the file: there is much room, and nowhere as much as is asked for. */
static void test_cannot_fit(void **state _unused_)
{
	uint64_t before;
	uint32_t n = 0;
	struct store *s;
	struct err err;

	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_budget(&lmdb, ROOM_BUDGET);
	while (bytes_in(s) < ROOM_BUDGET - (3 << 20)) {
		if (put(s, n, 1 << 20, n % 4 == 0, &err))
			fail_msg("%s", err.message);
		n++;
	}
	before = bytes_in(s);
	assert_int_equal(put(s, 1000, 8 << 20, false, &err), ERR_LIMIT);
	assert_non_null(strstr(err.message, "would lie side by side"));
	assert_null(strstr(err.message, "every table in it is pinned"));
	assert_int_equal(bytes_in(s), before);
	if (put(s, 1001, 5 << 19, false, &err)) /* between two that are pinned */
		fail_msg("%s", err.message);
	assert_true(before + (5 << 19) - bytes_in(s) <= 3 << 20);
	store_close(s);
}

static void test_windows(void **state _unused_)
{
	/* . free, a table of one letter, # in use: ##..aab#bcc..#dd */
	static const uint8_t free_pages[] = {0x0c, 0x18};
	const struct room_table tables[] = {{4, 2, 0}, {6, 1, 3}, {8, 1, 1}, {9, 2, 2}, {14, 2, 4}};
	const struct room room = {free_pages, 16, 18, tables, 5};
	bool taken[5];
	uint64_t largest;
	struct err err;

	assert_int_equal(room_find(&room, 2, taken, &largest, &err), 1);
	assert_false(taken[0] || taken[1] || taken[2] || taken[3] || taken[4]);
	assert_int_equal(room_find(&room, 4, taken, &largest, &err), 1);
	assert_true(taken[0] && !taken[1] && !taken[2] && !taken[3] && !taken[4]);
	assert_int_equal(room_find(&room, 5, taken, &largest, &err), 1);
	assert_true(!taken[0] && !taken[1] && taken[2] && taken[3] && !taken[4]);
	assert_int_equal(room_find(&room, 6, taken, &largest, &err), 0);
	assert_int_equal(largest, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_cannot_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
