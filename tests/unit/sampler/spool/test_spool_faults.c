/* SPDX-License-Identifier: Apache-2.0 */
/* The spool when writers die, bits flip and the disk refuses: samples are read or counted. */
#include "limits.h"
#include "spool_format.h"
#include "spool_samples.h"
#include "spool_segment.h"

#include <errno.h>
#include <string.h>

/* The file of a killed writer, cut or zeroed behind every byte: always a prefix of the samples, and
 * whatever a later writer adds. */
static void test_torn_tail(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct memory_file *f;
	uint8_t *copy;
	size_t used, len;
	uint64_t last = 0;

	for (uint64_t n = 0; n < 12; n += 3)
		add_many(w, n, 3);
	f = memory_io_file(m, SEGMENT, 0);
	len = f->len;
	for (used = len; !f->p[used - 1]; used--)
		;
	used = (used + 7) & ~(size_t)7;
	copy = malloc(len);
	assert_non_null(copy);
	memcpy(copy, f->p, len);
	for (int zeroed = 0; zeroed < 2; zeroed++) {
		for (size_t cut = SPOOL_HEADER_LEN; cut <= used; cut++) {
			struct seen seen;

			memcpy(f->p, copy, len);
			memset(f->p + cut, 0, len - cut);
			f->len = zeroed ? len : cut;
			seen = drain_all(m);
			assert_int_equal(seen.gaps, 0);
			assert_true(seen.count <= 12);
			assert_true(seen.count % 3 == 0);
			last = seen.count;
		}
		assert_int_equal(last, 12);
	}
	spool_writer_close(w);
	free(copy);
}

static void test_crash_then_more(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct memory_file *f;
	struct seen seen;
	size_t used;

	add_many(w, 0, 9);
	add_many(w, 9, 9);
	f = memory_io_file(m, SEGMENT, 0);
	for (used = f->len; !f->p[used - 1]; used--)
		;
	memset(f->p + used - 4, 0, 4); /* torn in its last record */
	assert_int_equal(drain(r, 100).count, 9);
	assert_int_equal(drain(r, 100).count, 0);
	/* The lock ends with the process that held it. */
	memory_io_drop_locks(m);
	struct spool_writer *next = writer(m, &small);
	assert_true(memory_io_file(m, SEGMENT, 0)->len < small.segment_len); /* trimmed */
	add_many(next, 18, 9);
	seen = drain(r, 100);
	assert_int_equal(seen.count, 9);
	assert_int_equal(seen.next, 27);
	assert_true(seen.damaged_len == 0); /* of its own segment */
	spool_writer_close(next);
	spool_writer_close(w);
	spool_reader_close(r);
}

static void test_bit_flips(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct memory_file *f;
	uint64_t total = 0, damaged = 0;
	size_t used;

	for (uint64_t n = 0; n < 40; n += 4)
		add_many(w, n, 4);
	spool_writer_close(w);
	f = memory_io_file(m, SEGMENT, 0);
	used = f->len;
	for (size_t at = SPOOL_HEADER_LEN; at < used; at++) {
		struct seen seen;

		f->p[at] ^= (uint8_t)(1u << at % 8);
		seen = drain_all_as(m, true);
		f->p[at] ^= (uint8_t)(1u << at % 8);
		/* One record is lost at most: the samples of one flush, or entries they and later
		 * ones need; those samples are still there, in place of their stack a name. */
		assert_true(seen.count >= 36);
		total += seen.replaced;
		damaged += seen.damaged_len;
	}
	assert_true(total > 0 && damaged > 0);
	/* A damaged header takes its own segment, no other. */
	w = writer(m, &small);
	add_many(w, 40, 10);
	spool_writer_close(w);
	memory_io_file(m, SEGMENT, 0)->p[100] ^= 1;
	assert_int_equal(drain_all(m).count, 10);
}

static void test_live_damage_is_waited_for(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct memory_file *f = memory_io_file(m, SEGMENT, 0);
	struct seen seen;
	uint8_t keep;

	add_many(w, 0, 4);
	add_many(w, 4, 4);
	keep = f->p[SPOOL_HEADER_LEN + 20];
	f->p[SPOOL_HEADER_LEN + 20] ^= 1; /* as if a write were half visible */
	assert_int_equal(drain(r, 100).count, 0);
	m->mono_ns += SECOND / 2;
	f->p[SPOOL_HEADER_LEN + 20] = keep;
	seen = drain(r, 100);
	assert_int_equal(seen.count, 8);
	assert_int_equal(seen.replaced, 0);
	spool_reader_rewind(r);
	f->p[SPOOL_HEADER_LEN + 20] ^= 1;
	assert_int_equal(drain(r, 100).count, 0);
	m->mono_ns += 2 * SECOND;
	seen = drain_as(r, 100, true);
	assert_true(seen.count > 0 && seen.damaged_len > 0);
	spool_reader_close(r);
	spool_writer_close(w);
}

/* Where looking for records ends, the rest is damage: all of it, and once. */
static void test_false_heads(void **state)
{
	struct memory_io *m = *state;
	const struct spool_record_head head = {.magic = SPOOL_RECORD_MAGIC, .len = 900 << 10};
	const size_t bad_len = 4 * MIB;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r;
	struct memory_file *f;
	struct seen seen;
	size_t used;

	add_many(w, 0, 10);
	spool_writer_close(w);
	f = memory_io_file(m, SEGMENT, 0);
	/* In place of the seal and what is behind it. */
	used = f->len - sizeof(head) - 8;
	f->p = realloc(f->p, used + bad_len + 4096);
	f->len = used + bad_len + 4096;
	memset(f->p + used, 0, f->len - used);
	for (size_t at = 0; at < bad_len; at += sizeof(head))
		memcpy(f->p + used + at, &head, sizeof(head));
	/* For who only looks, it is over. */
	r = reader(m);
	spool_reader_from_start(r);
	assert_int_equal(drain_as(r, 100, true).count, 10);
	assert_true(spool_reader_damaged_len(r) <= bad_len);
	assert_true(spool_reader_damaged_len(r) > bad_len - sizeof(head));
	spool_reader_close(r);
	r = reader(m);
	seen = drain_as(r, 100, true);
	assert_int_equal(seen.count, 10);
	/* Still the newest: it may be a write going on. */
	m->mono_ns += 2 * SECOND;
	assert_int_equal(drain_as(r, 100, true).count, 0);
	m->mono_ns += 2 * SECOND;
	w = writer(m, &small);
	add_many(w, 10, 10);
	spool_writer_close(w);
	assert_int_equal(drain_as(r, 100, true).count, 10);
	assert_true(spool_reader_damaged_len(r) <= bad_len);
	assert_true(spool_reader_damaged_len(r) > bad_len - sizeof(head));
	spool_reader_close(r);
}

static void test_free_floor(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	struct err err;

	limits.free_floor = 10 << 20;
	m->free_bytes = (10 << 20) + 3 * limits.segment_len;
	w = writer(m, &limits);
	add_many(w, 0, 10000);
	assert_true(memory_io_count(m, SEGMENT) <= 3);
	assert_int_equal(drain_all(m).count + spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED),
			 10000);
	m->free_bytes = 10 << 20; /* others filled the disk: we give way and go on counting */
	for (uint64_t n = 10000; n < 20000; n += 100)
		add_many(w, n, 100);
	assert_true(spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR) > 0);
	spool_writer_close(w);
	w = writer(m, &limits);
	assert_int_equal(spool_writer_flush(w, &err), ERR_LIMIT);
	assert_int_equal(spool_writer_flush(w, &err), 0); /* once */
	m->free_bytes = 1 << 30;
	m->mono_ns += 5 * SECOND;
	spool_writer_flush(w, &err);
	add_many(w, 20000, 5);
	assert_int_equal(drain_all(m).next, 20005);
	spool_writer_close(w);
}

/* The disk refuses everything for a while. */
static void test_write_errors(void **state)
{
	static const int errors[] = {-ENOSPC, -EROFS, -EIO};
	struct memory_io *m = *state;
	uint64_t n = 0, lost = 0;
	struct spool_writer *w = writer(m, &small);
	struct err err;
	int reports = 0;

	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct seen seen;

		add_many(w, n, 100);
		n += 100;
		m->fail_on = true;
		m->error = errors[i];
		for (int round = 0; round < 10; round++) {
			for (int k = 0; k < 10; k++)
				add(w, n++);
			reports += spool_writer_flush(w, &err) < 0;
			m->mono_ns += SECOND;
		}
		assert_int_equal(reports, i + 1);
		m->fail_on = false;
		m->mono_ns += 3 * SECOND;
		spool_writer_flush(w, &err);
		add_many(w, n, 100);
		n += 100;
		lost += 100;
		assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR), lost);
		seen = drain_all(m);
		assert_int_equal(seen.count + lost, n);
		assert_int_equal(seen.losses[SPOOL_LOSS_SPOOL_ERROR], lost);
		assert_int_equal(seen.replaced, 0);
	}
	spool_writer_close(w);
}

/* Every single call fails once: nothing crashes, and every sample is read or counted. */
static void test_every_call_fails_once(void **state)
{
	struct memory_io *m = *state;
	struct err err;

	for (long nth = 0; nth < 150; nth++) {
		struct spool_writer *w = NULL;
		uint64_t lost = 0;

		memory_io_done(m);
		m->error = -EIO;
		m->fail_after = nth;
		if (spool_writer_open(&w, "spool", &small, &origin, &m->io, &err) < 0) {
			m->fail_after = -1;
			assert_int_equal(memory_io_count(m, SEGMENT), 0);
			continue;
		}
		for (uint64_t n = 0; n < 3000; n += 50) {
			add_many(w, n, 50);
			m->mono_ns += SECOND;
		}
		m->fail_after = -1;
		add_many(w, 3000, 10);
		lost = spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR);
		spool_writer_close(w);
		assert_int_equal(memory_io_count(m, ".segment-"), 0);
		/* A sync that failed after its write leaves samples that are there after all. */
		assert_true(drain_all(m).count + lost >= 3010);
		assert_true(lost <= 250);
	}
}

/* Nobody ships, until a hundred times the limit was added: at no time is there more on the disk
 * than allowed; what is left is delivered once, what is not is counted, in the data and beside it.
 */
static void test_hundred_times_the_limit(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	struct spool_reader *r;
	struct spool_batch b;
	struct spool_drops drops;
	struct seen seen = {0};
	uint64_t n = 0, added_len = 0, last_id = 0, dropped;
	struct err err;

	limits.total_len = 3 * limits.segment_len;
	w = writer(m, &limits);
	while (added_len < 100 * limits.total_len) {
		uint64_t len = 0;
		const struct memory_file *f;

		add_many(w, n, 50);
		n += 50;
		m->mono_ns += SECOND / 4;
		for (size_t i = 0; (f = memory_io_file(m, SEGMENT, i)); i++)
			len += f->len;
		assert_true(len <= limits.total_len);
		f = memory_io_file(m, SEGMENT, memory_io_count(m, SEGMENT) - 1);
		/* A segment is full: the last of them has another number. */
		if (f->id != last_id) {
			added_len += limits.segment_len;
			last_id = f->id;
		}
	}
	assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR), 0);
	dropped = spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED);
	r = reader(m);
	while (spool_reader_next(r, 100, &b, &err) == 1) {
		see(&seen, &b);
		assert_int_equal(spool_reader_ack(r, &b, &err), 0);
	}
	spool_reader_close(r);
	assert_int_equal(seen.count + dropped, n);
	assert_int_equal(seen.gaps, 1);
	assert_int_equal(seen.losses[SPOOL_LOSS_SPOOL_DROPPED], dropped);
	spool_drops_read(&m->io, 0, &drops);
	assert_int_equal(drops.samples, dropped);
	assert_true(dropped > n * 9 / 10);
	spool_writer_close(w);
	assert_int_equal(drain_all(m).count, seen.count);
}

/* Clocks that jump, forwards and back, by an hour and by years, lose and repeat nothing. */
static void test_clock_jumps(void **state)
{
	static const int64_t jumps[] = {3600, -7200, 315360000, -315360000, -1, 86400};
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r;
	struct spool_batch b;
	struct seen seen = {0};
	struct err err;
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
		m->real_ns += (uint64_t)(jumps[i] * (int64_t)SECOND);
		add_many(w, n, 300);
		n += 300;
		m->mono_ns += SECOND;
		r = reader(m);
		if (i % 2 && spool_reader_next(r, 250, &b, &err) == 1) {
			see(&seen, &b);
			assert_int_equal(spool_reader_ack(r, &b, &err), 0);
		}
		spool_reader_close(r);
		if (i % 3 != 2)
			continue;
		spool_writer_close(w); /* numbers go up all the same */
		w = writer(m, &small);
	}
	r = reader(m);
	while (spool_reader_next(r, 250, &b, &err) == 1)
		see(&seen, &b);
	spool_reader_close(r);
	assert_int_equal(seen.count, n);
	assert_int_equal(seen.gaps, 0);
	assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED), 0);
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_torn_tail),
		TEST(test_crash_then_more),
		TEST(test_bit_flips),
		TEST(test_live_damage_is_waited_for),
		TEST(test_false_heads),
		TEST(test_free_floor),
		TEST(test_write_errors),
		TEST(test_every_call_fails_once),
		TEST(test_hundred_times_the_limit),
		TEST(test_clock_jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
