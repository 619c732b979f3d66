/* SPDX-License-Identifier: Apache-2.0 */
/* Records as the kernel lays them into a ring (perf_event_open(2)), made by hand: what is not met
 * every day, and every loss that has a record of its own. */
#include "perf_ring.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum {
	PAGE = 4096,
	DATA = PAGE,
};

static _Alignas(8) uint8_t memory[PAGE + DATA];
static uint8_t record[65536];
static struct perf_ring ring = {
	.base = memory, .page_len = PAGE, .data_len = DATA, .record = record};

static struct perf_event_mmap_page *page(void)
{
	return (struct perf_event_mmap_page *)(void *)memory;
}

/* At the head, around the end if need be. */
static void put_bytes(const void *p, size_t len)
{
	const uint8_t *from = p;

	for (size_t i = 0; i < len; i++)
		memory[PAGE + page()->data_head++ % DATA] = from[i];
}

/* With what stands behind every record that is no sample: thread, time, CPU. */
static void put(uint32_t type, uint16_t misc, const void *body, size_t len, uint64_t time_ns)
{
	const struct perf_event_header h = {type, misc, (uint16_t)(sizeof(h) + len + 24)};
	const uint64_t trailer[3] = {(uint64_t)8 << 32 | 7, time_ns, 0};

	put_bytes(&h, sizeof(h));
	put_bytes(body, len);
	put_bytes(trailer, sizeof(trailer));
}

static void put_mmap2(uint32_t pid, uint64_t start, uint64_t len, const char *path,
		      uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, off;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[64];
	} r = {pid, pid, start, len, 0x5000, 8, 1, 77, 3, 5, 2, ""};

	strcpy(r.path, path);
	put(PERF_RECORD_MMAP2, 0, &r, offsetof(__typeof__(r), path) + (strlen(path) + 8) / 8 * 8,
	    time_ns);
}

static void test_records(void **state _unused_)
{
	const uint64_t lost[2] = {1, 5}, throttle[3] = {1, 2, 3};
	const struct {
		uint32_t pid, tid;
		char name[16];
	} comm = {7, 7, "after"};
	struct perf_counts counts = {0};
	const struct event *e;
	struct events q;

	events_init(&q);
	/* Often enough to go around the end at every place. */
	for (uint64_t round = 0; round < 200; round++) {
		put_mmap2(7, 0x10000, 0x2000, "/bin/a\nb", 10 * round);
		put(PERF_RECORD_LOST, 0, lost, sizeof(lost), 10 * round + 1);
		put(PERF_RECORD_THROTTLE, 0, throttle, sizeof(throttle), 10 * round + 2);
		put(PERF_RECORD_UNTHROTTLE, 0, throttle, sizeof(throttle), 10 * round + 3);
		put(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, sizeof(comm),
		    10 * round + 4);
		put(4711, 0, lost, sizeof(lost), 10 * round + 5); /* of a kernel to come */
		perf_ring_drain(&ring, &q, &counts);
		assert_int_equal(page()->data_tail, page()->data_head);
		assert_int_equal(counts.lost, 5 * (round + 1));
		assert_int_equal(counts.throttled, round + 1);
		e = events_next(&q, UINT64_MAX);
		assert_non_null(e);
		assert_int_equal(e->kind, EVENT_MAP);
		assert_int_equal(e->pid, 7);
		assert_int_equal(e->map.start, 0x10000);
		assert_int_equal(e->map.end, 0x12000);
		assert_int_equal(e->map.file_off, 0x5000);
		assert_int_equal(e->map.inode, 77);
		assert_int_equal(e->map.generation, 3);
		assert_int_equal(e->data_len, 8);
		assert_memory_equal(e->data, "/bin/a\nb", 8);
		/* From the record before it on. */
		e = events_next(&q, UINT64_MAX);
		assert_int_equal(e->kind, EVENT_LOST);
		assert_int_equal(e->time_ns, 10 * round);
		assert_int_equal(e->lost.until_ns, 10 * round + 1);
		e = events_next(&q, UINT64_MAX);
		assert_int_equal(e->kind, EVENT_COMM);
		assert_true(e->comm.is_exec);
		assert_null(events_next(&q, UINT64_MAX));
		events_compact(&q);
	}
	events_done(&q);
}

/* What was lost is told with the next record that finds room: a ring without room has lost. */
static void test_full(void **state _unused_)
{
	const uint8_t body[512] = {0};
	struct perf_counts counts = {0};
	const struct event *e;
	struct events q;

	events_init(&q);
	for (size_t room = 128; room <= 128; room -= 32) {
		put_mmap2(7, 0x10000, 0x2000, "/bin/a", 5);
		while (page()->data_tail + DATA - page()->data_head > room) {
			const uint64_t left =
				page()->data_tail + DATA - page()->data_head - room - 32;

			put(4711, 0, body, left > 256 ? 128 : left, 6);
		}
		assert_int_equal(page()->data_tail + DATA - page()->data_head, room);
		perf_ring_drain(&ring, &q, &counts);
		assert_int_equal(events_next(&q, UINT64_MAX)->kind, EVENT_MAP);
		e = events_next(&q, UINT64_MAX);
		assert_int_equal(e != NULL, room < DATA / 64);
		if (e) {
			assert_int_equal(e->kind, EVENT_LOST);
			assert_int_equal(e->time_ns, 5);
			assert_true(e->lost.until_ns > 6);
		}
		events_compact(&q);
	}
	assert_int_equal(counts.lost, 0); /* how many is told later */
	events_done(&q);
}

/* What does not add up costs itself, or all there is; it hangs nobody. */
static void test_damage(void **state _unused_)
{
	const struct perf_event_header sizes[] = {{PERF_RECORD_COMM, 0, 0},
						  {PERF_RECORD_COMM, 0, 7},
						  {PERF_RECORD_COMM, 0, 8},
						  {PERF_RECORD_MMAP2, 0, 32},
						  {PERF_RECORD_LOST, 0, 4000}};
	const uint8_t rest[64] = {0};
	struct perf_counts counts = {0};
	struct events q;

	events_init(&q);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		put_bytes(&sizes[i], sizeof(sizes[i]));
		put_bytes(rest, sizeof(rest));
		perf_ring_drain(&ring, &q, &counts);
		assert_int_equal(page()->data_tail, page()->data_head);
		while (events_next(&q, UINT64_MAX))
			;
		events_compact(&q);
	}
	/* An end before its start. */
	put_mmap2(7, UINT64_MAX - 10, 0x2000, "/bin/a", 1);
	perf_ring_drain(&ring, &q, &counts);
	assert_null(events_next(&q, UINT64_MAX));
	assert_int_equal(counts.throttled, 0);
	events_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
