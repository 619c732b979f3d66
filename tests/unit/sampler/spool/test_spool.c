/* SPDX-License-Identifier: Apache-2.0 */
/* The spool over files in memory: what goes in comes out, within the limits. */
#include "crc32c.h"
#include "spool_format.h"
#include "spool_samples.h"

#include <stdio.h>
#include <string.h>

static void test_round_trip(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct seen seen, again;

	assert_int_equal(drain(r, 10).count, 0);
	add_many(w, 0, 5);
	seen = drain(r, 2); /* while the writer lives, in batches that cut a record */
	assert_int_equal(seen.count, 5);
	assert_int_equal(seen.batches, 3);
	add_many(w, 5, 20000);
	spool_writer_close(w);
	assert_true(memory_io_count(m, SEGMENT) > 2);
	seen = drain(r, 333);
	assert_int_equal(seen.count, 20000);
	assert_int_equal(seen.gaps, 1); /* from 0 to 5 */
	spool_reader_rewind(r);
	again = drain(r, 1000);
	assert_int_equal(again.count, 20005);
	assert_int_equal(again.gaps, 0);
	assert_int_equal(again.damaged_len, 0);
	spool_reader_close(r);
}

static void test_ack(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	uint8_t id[SPOOL_BATCH_ID_LEN];
	struct spool_batch b;
	struct seen seen = {0};
	struct err err;
	int round;

	add_many(w, 0, 7000);
	for (round = 0; spool_reader_next(r, 97, &b, &err) == 1; round++) {
		see(&seen, &b);
		memcpy(id, b.id, sizeof(id));
		if (round % 3 == 0) {
			/* A reader that dies before the acknowledgement gets the same again. */
			uint64_t count = b.sample_count, first = b.samples[0].time_ns;

			spool_reader_close(r);
			r = reader(m);
			assert_int_equal(spool_reader_next(r, 97, &b, &err), 1);
			assert_memory_equal(b.id, id, sizeof(id));
			assert_int_equal(b.sample_count, count);
			assert_int_equal(b.samples[0].time_ns, first);
		}
		assert_int_equal(spool_reader_ack(r, &b, &err), 0);
		if (round % 5 == 0) {
			spool_reader_close(r);
			r = reader(m);
		}
	}
	assert_int_equal(seen.count, 7000);
	assert_int_equal(seen.gaps, 0);
	spool_reader_rewind(r);
	assert_int_equal(drain(r, 10).count, 0);
	spool_reader_from_start(r);
	assert_int_equal(drain(r, 1000).count, 7000);
	/* A damaged acknowledgement: everything again, rather than nothing. */
	memory_io_file(m, "ack", 0)->p[20] ^= 1;
	spool_reader_close(r);
	r = reader(m);
	assert_int_equal(drain(r, 1000).count, 7000);
	spool_reader_close(r);
	spool_writer_close(w);
}

/* Who looks is done with what was there, however fast samples come. */
static void try_look(struct memory_io *m, uint64_t first, uint64_t more)
{
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct spool_batch b;
	struct err err;
	uint64_t next = first, seen = 0;

	add_many(w, 0, first);
	spool_reader_from_start(r);
	while (spool_reader_next(r, 10, &b, &err) == 1) {
		seen += b.sample_count;
		assert_true(seen <= first);
		add_many(w, next, more);
		next += more;
	}
	assert_int_equal(seen, first);
	assert_int_equal(spool_reader_next(r, 10, &b, &err), 0);
	spool_reader_from_start(r);
	assert_int_equal(drain(r, 1000).count, next);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void test_look_ends(void **state)
{
	struct memory_io *m = *state;

	try_look(m, 30, 10);
	assert_null(memory_io_file(m, SEGMENT, 1));
}

/* The writer is segments ahead then. */
static void test_look_ends_before(void **state)
{
	struct memory_io *m = *state;

	try_look(m, 250, 100);
	assert_non_null(memory_io_file(m, SEGMENT, 1));
}

static void test_byte_limit(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	struct spool_reader *r;
	struct spool_batch b;
	struct seen seen;
	struct err err;
	uint64_t total = 0;

	limits.total_len = 4 * limits.segment_len;
	w = writer(m, &limits);
	for (uint64_t n = 0; n < 30000; n += 100) {
		add_many(w, n, 100);
		total = 0;
		for (size_t i = 0; memory_io_file(m, SEGMENT, i); i++)
			total += memory_io_file(m, SEGMENT, i)->len;
		assert_true(total <= limits.total_len);
	}
	add_many(w, 30000, 1);
	seen = drain_all(m);
	assert_int_equal(seen.gaps, 1); /* the oldest went */
	assert_int_equal(seen.next, 30001);
	assert_true(seen.losses[SPOOL_LOSS_SPOOL_DROPPED] > 0);
	assert_int_equal(seen.count + seen.losses[SPOOL_LOSS_SPOOL_DROPPED], 30001);
	/* What is acknowledged may go without being a loss. */
	r = reader(m);
	while (spool_reader_next(r, 1000, &b, &err) == 1)
		assert_int_equal(spool_reader_ack(r, &b, &err), 0);
	total = spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED);
	for (uint64_t n = 30001; n < 50001; n += 100) {
		add_many(w, n, 100);
		while (spool_reader_next(r, 1000, &b, &err) == 1)
			assert_int_equal(spool_reader_ack(r, &b, &err), 0);
	}
	assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED), total);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void test_age_limit_and_clocks(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;

	limits.age_ns = 100 * SECOND;
	w = writer(m, &limits);
	add_many(w, 0, 10);
	m->real_ns += 1000000 * SECOND; /* somebody sets the clock: nothing is old now */
	m->mono_ns += 5 * SECOND;
	add_many(w, 10, 10);
	assert_int_equal(drain_all(m).count, 20);
	m->mono_ns += 20 * SECOND; /* an eighth of the limit: a segment of its own */
	add_many(w, 20, 10);
	m->mono_ns += 70 * SECOND;
	add_many(w, 30, 10);
	assert_int_equal(drain_all(m).count, 40);
	m->mono_ns += 10 * SECOND;
	add_many(w, 40, 10);
	add_many(w, 50, 10);
	assert_true(spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED) >= 20);
	assert_int_equal(drain_all(m).count + spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED), 60);
	spool_writer_close(w);
}

/* Of an earlier boot the wall clock tells the age, which may be wrong when a host starts: nothing
 * goes for it on the first day. Nor for a clock that was behind when the segment was written. */
static void test_age_over_boots(void **state)
{
	const uint64_t day = 86400 * SECOND;
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_origin next = origin;
	struct spool_writer *w;
	struct err err;

	limits.age_ns = 7 * day;
	memcpy(next.boot_id, "nextnextnextnex", sizeof(next.boot_id));
	for (int was_behind = 0; was_behind < 2; was_behind++) {
		m->real_ns = was_behind ? day : UINT64_C(1800000000) * SECOND;
		w = writer(m, &limits);
		add_many(w, 0, 10);
		spool_writer_close(w);
		m->real_ns = UINT64_C(1800000000) * SECOND + 400 * day;
		m->mono_ns = 100 * SECOND;
		assert_int_equal(spool_writer_open(&w, "spool", &limits, &next, &m->io, &err), 0);
		assert_int_equal(drain_all(m).count, 10);
		m->mono_ns += 2 * day;
		assert_int_equal(spool_writer_flush(w, &err), 0);
		assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED),
				 was_behind ? 0 : 10);
		m->mono_ns += 8 * day;
		assert_int_equal(spool_writer_flush(w, &err), 0);
		assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED), 10);
		spool_writer_close(w);
	}
}

static void test_lock(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small), *other = NULL;
	struct err err;

	assert_int_equal(spool_writer_open(&other, "spool", &small, &origin, &m->io, &err),
			 ERR_EXISTS);
	spool_writer_close(w);
	spool_writer_close(writer(m, &small));
}

static void test_numbers_go_up(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	char first[64];

	spool_writer_close(w);
	strcpy(first, memory_io_file(m, SEGMENT, 0)->name);
	/* The directory was removed, and the clock set back a little. */
	memory_io_done(m);
	m->real_ns += SECOND;
	spool_writer_close(writer(m, &small));
	assert_true(strcmp(memory_io_file(m, SEGMENT, 0)->name, first) > 0);
	m->real_ns -= 1000 * SECOND;
	spool_writer_close(writer(m, &small));
	assert_int_equal(memory_io_count(m, SEGMENT), 2);
}

static void put_record(uint8_t *at, uint32_t type, const void *payload, uint32_t len)
{
	struct spool_record_head head = {SPOOL_RECORD_MAGIC, type, len, 0};

	head.crc = crc32c(crc32c(0, &head.type, 8), payload, len);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), payload, len);
}

/* What a later minor version adds is passed over; a segment of another major version is
 * left out (test_spool_formats.c). */
static void test_versions(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct memory_file *f;
	struct spool_header head;
	struct spool_skipped skipped;
	struct spool_reader *r;
	struct spool_batch b;
	struct err err;
	uint8_t *p;
	size_t len;

	add_many(w, 0, 10);
	spool_writer_close(w);
	f = memory_io_file(m, SEGMENT, 0);
	len = f->len;
	p = calloc(1, len + 32);
	assert_non_null(p);
	memcpy(p, f->p, SPOOL_HEADER_LEN);
	put_record(p + SPOOL_HEADER_LEN, 4711, "later version", 13);
	memcpy(p + SPOOL_HEADER_LEN + 32, f->p + SPOOL_HEADER_LEN, len - SPOOL_HEADER_LEN);
	memcpy(&head, p, sizeof(head));
	head.minor++;
	memcpy(p + sizeof(head) + sizeof(struct spool_header_entry), "\x63\0\0\0", 4);
	for (int major = 0; major < 2; major++) {
		head.major = (uint16_t)(major ? SPOOL_MAJOR_PACKED + 1 : SPOOL_MAJOR);
		head.crc = 0;
		memcpy(p, &head, sizeof(head));
		head.crc = crc32c(0, p, SPOOL_HEADER_LEN);
		memcpy(p, &head, sizeof(head));
		memory_io_put(m, f->name, p, len + 32);
		if (major == 0) {
			struct seen seen = drain_all(m);

			assert_int_equal(seen.count, 10);
			assert_int_equal(seen.damaged_len, 0);
			continue;
		}
		r = reader(m);
		assert_int_equal(spool_reader_next(r, 10, &b, &err), 0);
		spool_reader_skipped(r, &skipped);
		assert_int_equal(skipped.count, 1);
		assert_non_null(strstr(skipped.why.message, "format 5"));
		spool_reader_close(r);
	}
	free(p);
}

/* One sample with everything new and as large as it gets, over and over. */
static void test_large_samples(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	uint32_t frames[LIMIT_STACK_FRAMES + 1];
	char path[LIMIT_PATH_LEN + 1];
	uint64_t count = 0, lost, frames_seen = 0;
	struct spool_reader *r;
	struct spool_batch b;
	struct err err;

	limits.total_len = 8 << 20;
	w = writer(m, &limits);
	memset(path, 'x', sizeof(path));
	assert_int_equal(spool_writer_string(w, path, sizeof(path)), LOCATION_NO_INDEX);
	for (uint32_t n = 0; n < 200; n++) {
		struct spool_thread t = SPOOL_THREAD_INIT;
		size_t depth = n % 50 == 49 ? LIMIT_STACK_FRAMES + 1 : LIMIT_STACK_FRAMES;

		t.pid = n;
		memcpy(path, &n, sizeof(n));
		t.exe = spool_writer_string(w, path, LIMIT_PATH_LEN);
		for (uint32_t i = 0; i < depth; i++)
			frames[i] = spool_writer_location(
				w, &(struct location){.kind = LOCATION_UNRESOLVED,
						      .address = UINT64_MAX - n * 1000 - i,
						      .module = LOCATION_NO_INDEX,
						      .name = LOCATION_NO_INDEX});
		spool_writer_sample(
			w, &(struct spool_sample){.time_ns = n,
						  .thread = spool_writer_thread(w, &t),
						  .stack = spool_writer_stack(w, frames, depth, 0),
						  .weight = 1});
		assert_int_equal(spool_writer_flush(w, &err), 0);
	}
	lost = spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR);
	assert_int_equal(lost, 4); /* the four that were too deep */
	spool_writer_close(w);
	r = reader(m);
	while (spool_reader_next(r, 1000, &b, &err) == 1) {
		count += b.sample_count;
		for (size_t i = 0; i < b.sample_count; i++)
			frames_seen += b.stacks[b.samples[i].stack].count;
		assert_true(b.location_count <= LIMIT_BATCH_LOCATIONS);
	}
	spool_reader_close(r);
	assert_int_equal(count + lost, 200);
	assert_int_equal(frames_seen, 196 * LIMIT_STACK_FRAMES);
}

/* Deep stacks, each another: a batch ends at a number of frames, and again at the same one. */
static void test_many_frames(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	uint32_t frames[LIMIT_STACK_FRAMES], locations[2];
	uint64_t count = 0, ends[2] = {0}, batches = 0;
	struct spool_reader *r;
	struct spool_batch b;
	struct err err;

	limits.segment_len = 4 << 20;
	limits.total_len = 16 << 20;
	w = writer(m, &limits);
	for (uint32_t n = 0; n < 3000; n++) {
		struct spool_thread t = SPOOL_THREAD_INIT;

		for (uint32_t i = 0; i < 2; i++)
			locations[i] = spool_writer_location(
				w, &(struct location){.kind = LOCATION_UNRESOLVED,
						      .address = 1000 + i,
						      .module = LOCATION_NO_INDEX,
						      .name = LOCATION_NO_INDEX});
		for (uint32_t i = 0; i < ARRAY_LEN(frames); i++)
			frames[i] = locations[n >> i % 16 & 1];
		spool_writer_sample(
			w, &(struct spool_sample){
				   .time_ns = n,
				   .thread = spool_writer_thread(w, &t),
				   .stack = spool_writer_stack(w, frames, ARRAY_LEN(frames), 0),
				   .weight = 1});
	}
	assert_int_equal(spool_writer_flush(w, &err), 0);
	spool_writer_close(w);
	r = reader(m);
	for (int i = 0; i < 2; i++) {
		spool_reader_rewind(r);
		assert_int_equal(spool_reader_next(r, 10000, &b, &err), 1);
		ends[i] = b.end_offset;
		assert_true(b.is_stable);
	}
	assert_int_equal(ends[0], ends[1]);
	spool_reader_rewind(r);
	while (spool_reader_next(r, 10000, &b, &err) == 1) {
		size_t frame_count = 0;

		for (size_t i = 0; i < b.stack_count; i++)
			frame_count += b.stacks[i].count;
		assert_in_range(frame_count, 1, LIMIT_BATCH_FRAMES);
		count += b.sample_count;
		batches++;
	}
	spool_reader_close(r);
	assert_int_equal(count, 3000);
	assert_int_equal(batches, 2);
}

static void test_losses(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct seen seen;

	spool_writer_loss(w, SPOOL_LOSS_RING_FULL, 7);
	spool_writer_loss(w, SPOOL_LOSS_SPOOL_ERROR, 99); /* not the caller's to state */
	add_many(w, 0, 10);
	add_many(w, 10, 8000); /* several segments on, still stated */
	seen = drain_all(m);
	assert_int_equal(seen.losses[SPOOL_LOSS_RING_FULL], 7);
	assert_int_equal(seen.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		assert_string_not_equal(spool_loss_name(i), "unknown");
	assert_string_equal(spool_loss_name(SPOOL_LOSS_COUNT), "unknown");
	spool_writer_close(w);
}

static void test_sync_interval(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	unsigned int before = m->sync_count;

	for (uint64_t n = 0; n < 40; n++) { /* ten seconds */
		add_many(w, n, 1);
		m->mono_ns += SECOND / 4;
	}
	assert_int_equal(m->sync_count - before, 4);
	spool_writer_close(w);
}

static void test_bad_limits(void **state)
{
	struct memory_io *m = *state;
	static const struct spool_limits bad[] = {
		{.segment_len = 1000},
		{.segment_len = (64 << 20) + 8},
		{.segment_len = 65540 + 1},
		{.segment_len = 1 << 20, .total_len = 1 << 20},
	};
	struct spool_writer *w;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(spool_writer_open(&w, "spool", &bad[i], &origin, &m->io, &err),
				 ERR_USAGE);
	spool_writer_close(writer(m, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),     TEST(test_ack),
		TEST(test_look_ends),      TEST(test_look_ends_before),
		TEST(test_byte_limit),     TEST(test_age_limit_and_clocks),
		TEST(test_age_over_boots), TEST(test_lock),
		TEST(test_numbers_go_up),  TEST(test_versions),
		TEST(test_large_samples),  TEST(test_losses),
		TEST(test_sync_interval),  TEST(test_many_frames),
		TEST(test_bad_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
