/* SPDX-License-Identifier: Apache-2.0 */
/* Executable segments of files in the spool: they come with their module, even when they were
 * written behind its samples, and what a stranger wrote in their place is left out. */
#include "crc32c.h"
#include "spool_format.h"
#include "spool_samples.h"

#include <stdio.h>
#include <string.h>

static const struct file_segment rows[] = {
	{0x1000, 0x401000, 0x800},
	{0x2000, UINT64_MAX - 0x1000, 0x1000},
};

/* One sample in the module of this number; its row. */
static uint32_t add_in_module(struct spool_writer *w, uint8_t number)
{
	struct spool_module m = {.id = {.kind = BUILD_ID_GNU, .len = 20, .bytes = {number}}};
	struct spool_thread t = SPOOL_THREAD_INIT;
	struct location l = {
		.kind = LOCATION_FILE_OFF, .name = LOCATION_NO_INDEX, .address = 0x1234};
	uint32_t location;

	m.path = spool_writer_string(w, "/bin/a", 6);
	l.module = spool_writer_module(w, &m);
	location = spool_writer_location(w, &l);
	spool_writer_sample(w, &(struct spool_sample){
				       .time_ns = 1000000,
				       .thread = spool_writer_thread(w, &t),
				       .stack = spool_writer_stack(w, &location, 1, 0),
				       .weight = 1,
			       });
	return l.module;
}

static const struct spool_module *module_of(const struct spool_batch *b, uint8_t number)
{
	for (size_t i = 0; i < b->module_count; i++)
		if (b->modules[i].id.bytes[0] == number)
			return &b->modules[i];
	fail_msg("module %d is not in the batch", number);
	return NULL;
}

static void expect(const struct spool_batch *b, uint8_t number, size_t count)
{
	const struct spool_module *m = module_of(b, number);

	assert_int_equal(m->segment_count, count);
	if (count)
		assert_memory_equal(m->segments, rows, count * sizeof(*rows));
}

static void next_batch(struct spool_reader *r, size_t max, struct spool_batch *b)
{
	struct err err;

	if (spool_reader_next(r, max, b, &err) != 1)
		fail_msg("no batch");
}

static void test_round_trip(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct spool_batch b;
	uint32_t second;

	spool_writer_file_segments(w, add_in_module(w, 1), rows, 2);
	second = add_in_module(w, 2);
	spool_writer_flush(w, NULL);
	next_batch(r, 100, &b);
	assert_int_equal(b.sample_count, 2);
	expect(&b, 1, 2);
	expect(&b, 2, 0); /* not known yet */
	/* Behind its samples, in the same batch once that is read again, and in those that follow.
	 */
	spool_writer_file_segments(w, second, rows, 1);
	spool_writer_file_segments(w, second, rows, 2); /* the first ones hold */
	add_in_module(w, 2);
	spool_writer_flush(w, NULL);
	next_batch(r, 100, &b);
	assert_int_equal(b.sample_count, 1);
	expect(&b, 2, 1);
	spool_reader_rewind(r);
	next_batch(r, 100, &b);
	assert_int_equal(b.sample_count, 3);
	expect(&b, 1, 2);
	expect(&b, 2, 1);
	/* None, of nothing, and of too many: not stored. */
	spool_writer_file_segments(w, second, rows, 0);
	spool_writer_file_segments(w, second + 1, rows, 1);
	spool_writer_file_segments(w, LOCATION_NO_INDEX, rows, 1);
	spool_writer_close(w);
	/* And packed, which the next writer does. */
	spool_writer_close(writer(m, &small));
	spool_reader_from_start(r);
	next_batch(r, 100, &b);
	expect(&b, 1, 2);
	expect(&b, 2, 1);
	assert_int_equal(b.damaged_len, 0);
	spool_reader_close(r);
}

/* However often they are told: while records of mappings are lost, that is each tenth of a second.
 */
static void test_told_again(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	const uint64_t first = spool_writer_segment(w);
	const uint32_t module = add_in_module(w, 1);

	for (uint64_t i = 0; i < small.segment_len / 10; i++) {
		spool_writer_file_segments(w, module, rows, 2);
		spool_writer_flush(w, NULL);
	}
	add_in_module(w, 1);
	assert_int_equal(spool_writer_segment(w), first);
	spool_writer_close(w);
}

/* Each segment of the spool has its own. */
static void test_next_segment(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	uint64_t first = spool_writer_segment(w), told = 0;
	struct spool_reader *r = reader(m);
	struct spool_batch b;

	spool_writer_file_segments(w, add_in_module(w, 1), rows, 2);
	while (spool_writer_segment(w) == first)
		add_in_module(w, 1);
	add_in_module(w, 1);
	spool_writer_close(w);
	while (spool_reader_next(r, 5000, &b, NULL) == 1) {
		expect(&b, 1, b.segment == first ? 2 : 0);
		told += b.segment != first;
	}
	assert_int_equal(told, 1);
	spool_reader_close(r);
}

static void put_record(struct memory_file *f, const void *payload, uint32_t len)
{
	struct spool_record_head head = {SPOOL_RECORD_MAGIC, SPOOL_RECORD_FILE_SEGMENTS, len, 0};
	struct spool_record_head seal;
	const size_t at = f->len - sizeof(seal) - 8;
	const size_t padded = (len + 7) / 8 * 8;
	uint8_t seal_bytes[sizeof(seal) + 8], *p;

	/* In front of the record that ends the segment. */
	memcpy(seal_bytes, f->p + at, sizeof(seal_bytes));
	head.crc = crc32c(crc32c(0, &head.type, 8), payload, len);
	p = realloc(f->p, f->len + sizeof(head) + padded);
	assert_non_null(p);
	f->p = p;
	memset(p + at, 0, sizeof(head) + padded);
	memcpy(p + at, &head, sizeof(head));
	if (len)
		memcpy(p + at + sizeof(head), payload, len);
	memcpy(p + at + sizeof(head) + padded, seal_bytes, sizeof(seal_bytes));
	f->len += sizeof(head) + padded;
}

/* What stands in such a record is a stranger's: it is what it can be, or nothing; and nothing else
 * of the spool suffers. */
static void test_hostile(void **state)
{
	static const struct {
		const char *what;
		uint32_t len, count; /* count: segments that module 1 has then */
		uint8_t bytes[40];
	} cases[] = {
		{"good", 13, 1, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 6, 7}},
		{"the second of two",
		 18,
		 1,
		 {2, 0, 0, 0, 0, 0, 0, 0, 9, 1, 5, 6, 7, 0, 1, 5, 6, 7}},
		{"empty", 0, 0, {0}},
		{"a count without entries", 8, 0, {9, 0, 0, 0}},
		{"cut", 12, 0, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 6}},
		{"none", 10, 0, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"too many", 34, 0, {1, 0, 0, 0, 0, 0, 0, 0, 0, 9}},
		{"no module", 13, 0, {1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 5, 6, 7}},
		{"a module far away",
		 18,
		 0,
		 {1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 5, 6, 7}},
		{"of no length", 13, 0, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 6, 0}},
		{"overlapping", 16, 0, {1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 0, 7, 6, 9, 1}},
		{"the end wraps", 22, 0, {1,    0,    0,    0,    0,    0,    0,    0,
					  0,    1,    5,    0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 1,    7}},
		{"a wrong one, then a good one",
		 18,
		 1,
		 {2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 6, 0, 0, 1, 5, 6, 7}},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct memory_io *m = *state;
		struct spool_writer *w;
		struct spool_reader *r;
		struct spool_batch b;

		memory_io_done(m);
		w = writer(m, &small);
		add_in_module(w, 1);
		spool_writer_close(w);
		put_record(memory_io_file(m, SEGMENT, 0), cases[i].bytes, cases[i].len);
		r = reader(m);
		next_batch(r, 100, &b);
		assert_int_equal(b.sample_count, 1);
		assert_int_equal(b.damaged_len, 0);
		if (module_of(&b, 1)->segment_count != cases[i].count)
			fail_msg("%s: %u segments", cases[i].what, module_of(&b, 1)->segment_count);
		if (cases[i].count)
			assert_int_equal(module_of(&b, 1)->segments[0].vaddr, 6);
		assert_int_equal(spool_reader_next(r, 100, &b, NULL), 0);
		spool_reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_told_again),
		TEST(test_next_segment),
		TEST(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
