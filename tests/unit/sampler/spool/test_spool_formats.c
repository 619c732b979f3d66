/* SPDX-License-Identifier: Apache-2.0 */
/* A spool with segments of another format among its own, as an upgrade or a downgrade leaves it. */
#include "spool_samples.h"

#include <string.h>

#include "spool_format.h"

enum {
	RUNS = 4,
	OF_RUN = 10
};

static void set_major(struct memory_file *f, uint16_t major)
{
	memcpy(f->p + offsetof(struct spool_header, major), &major, sizeof(major));
}

/* Four segments of ten samples; those of the bits in `foreign` have a format to come. */
static void fill(struct memory_io *m, const struct spool_limits *limits, unsigned int foreign)
{
	for (uint64_t run = 0; run < RUNS; run++) {
		struct spool_writer *w = writer(m, limits);

		add_many(w, run * OF_RUN, OF_RUN);
		spool_writer_close(w);
	}
	assert_int_equal(memory_io_count(m, SEGMENT), RUNS);
	for (size_t i = 0; i < RUNS; i++)
		if (foreign & 1u << i)
			set_major(memory_io_file(m, SEGMENT, i), SPOOL_MAJOR_PACKED + 1);
}

/* All that is readable is delivered and acknowledged, whichever segments are not; each counts once,
 * whatever a shipper that failed goes back to. */
static void test_left_out(void **state)
{
	struct memory_io *m = *state;

	for (unsigned int foreign = 0; foreign < 1u << RUNS; foreign++) {
		struct spool_skipped skipped;
		struct spool_reader *r;
		struct spool_batch b;
		uint64_t samples = 0, readable = 0;
		struct err err;
		int rc;

		memory_io_done(m);
		memory_io_init(m);
		fill(m, &small, foreign);
		for (int i = 0; i < RUNS; i++)
			readable += foreign & 1u << i ? 0 : OF_RUN;
		r = reader(m);
		while (spool_reader_next(r, 3, &b, &err) == 1)
			;
		spool_reader_rewind(r);
		while ((rc = spool_reader_next(r, 3, &b, &err)) == 1) {
			samples += b.sample_count;
			assert_int_equal(spool_reader_ack(r, &b, &err), 0);
		}
		assert_int_equal(rc, 0);
		assert_int_equal(samples, readable);
		spool_reader_skipped(r, &skipped);
		assert_int_equal(skipped.count, __builtin_popcount(foreign));
		assert_int_equal(spool_reader_damaged_len(r), 0);
		if (foreign)
			assert_non_null(strstr(skipped.why.message, "spool format 5"));
		spool_reader_close(r);
		/* A program that reads them finds every byte. */
		for (size_t i = 0; i < RUNS; i++)
			set_major(memory_io_file(m, SEGMENT, i), SPOOL_MAJOR);
		assert_int_equal(drain_all(m).count, RUNS * OF_RUN);
	}
}

/* The writer that takes over changes no byte of them, for where they end is not known, and goes on
 * behind them. */
static void test_kept_as_they_are(void **state)
{
	static const uint8_t zeros[16384];
	struct memory_io *m = *state;
	struct spool_writer *w;
	struct memory_file *last;
	size_t len;

	fill(m, &small, 1u << (RUNS - 1));
	last = memory_io_file(m, SEGMENT, RUNS - 1);
	len = last->len + sizeof(zeros);
	last->p = realloc(last->p, len);
	assert_non_null(last->p);
	memcpy(last->p + last->len, zeros, sizeof(zeros));
	last->len = len;
	w = writer(m, &small);
	add_many(w, RUNS * OF_RUN, OF_RUN);
	spool_writer_close(w);
	assert_int_equal(memory_io_file(m, SEGMENT, RUNS - 1)->len, len);
	assert_int_equal(drain_all(m).count, RUNS * OF_RUN);
}

/* Limits drop them like others: one whose age cannot be read is as old as the next, and holds up
 * nothing that stands behind it, over any number of restarts. */
static void test_limits(void **state)
{
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;

	limits.age_ns = 100 * SECOND;
	fill(m, &limits, 1 | 4);
	for (int i = 0; i < 6; i++) {
		m->mono_ns += 20 * SECOND;
		spool_writer_close(writer(m, &limits));
	}
	w = writer(m, &limits);
	add_many(w, RUNS * OF_RUN, OF_RUN);
	assert_int_equal(drain_all(m).count, OF_RUN);
	for (size_t i = 0; i < memory_io_count(m, SEGMENT); i++)
		assert_int_equal(
			memory_io_file(m, SEGMENT, i)->p[offsetof(struct spool_header, major)],
			SPOOL_MAJOR);
	spool_writer_close(w);
	/* By bytes. */
	limits = small;
	limits.total_len = 2 * small.segment_len;
	set_major(memory_io_file(m, SEGMENT, 0), SPOOL_MAJOR_PACKED + 1);
	w = writer(m, &limits);
	for (uint64_t n = 0; n < 5000; n += 50)
		add_many(w, RUNS * OF_RUN + OF_RUN + n, 50);
	assert_int_equal(memory_io_file(m, SEGMENT, 0)->p[offsetof(struct spool_header, major)],
			 SPOOL_MAJOR);
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_left_out),
		TEST(test_kept_as_they_are),
		TEST(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
