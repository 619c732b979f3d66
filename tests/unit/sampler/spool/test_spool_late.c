/* SPDX-License-Identifier: Apache-2.0 */
/* Names that become known after the samples they are for were stored: whose they are, from any
 * segment, whole or not at all, and without a batch that ends elsewhere. */
#include <string.h>

#include "spool_compress.h"
#include "spool_samples.h"

/* Of spool_samples.c: sample n is of process n % 10, and returns to UINT64_MAX - n. */
#define START_NS 77
#define BASE     (UINT64_MAX - (UINT64_C(1) << 20))
#define BASE_LEN (UINT64_C(1) << 20)
#define ALL_NS   UINT64_C(1000000000000)
#define NONE     UINT64_MAX

static const struct spool_late_scope third = {3, START_NS, 0, ALL_NS};

static void name(struct spool_writer *w, const struct spool_late_scope *scope, uint64_t pc,
		 uint64_t len, const char *text)
{
	const struct spool_late_name row = {pc, len, text, strlen(text)};

	spool_writer_late(w, scope, &row, 1);
	spool_writer_flush(w, NULL);
}

/* What the last frame of a sample is called; NULL: nothing. */
static const struct spool_string *name_of(const struct spool_batch *b, size_t i)
{
	const struct spool_stack *s = &b->stacks[b->samples[i].stack];
	const struct location *l = &b->locations[s->locations[s->count - 1]];

	assert_int_equal(s->count, 3);
	assert_int_equal(s->flags, SPOOL_STACK_USER_TRUNCATED);
	assert_int_equal(l->mode, LOCATION_RETURN);
	if (l->kind == LOCATION_UNRESOLVED) {
		assert_int_equal(l->reason, UNRESOLVED_ANONYMOUS);
		assert_int_equal(l->address, UINT64_MAX - sample_number(&b->samples[i]));
		return NULL;
	}
	assert_int_equal(l->kind, LOCATION_HOST_NAMED);
	assert_int_equal(l->reason, HOST_SOURCE_PERF_MAP);
	assert_true(l->name < b->string_count);
	return &b->strings[l->name];
}

/* Reads everything, so many samples at a time: how many have this name; those without one and those
 * with another are counted beside. */
struct counts {
	uint64_t named, unnamed, others, first, last;
};

static struct counts count_names(struct spool_reader *r, size_t max_samples, const char *want)
{
	struct counts ret = {.first = NONE};
	struct spool_batch b;

	while (spool_reader_next(r, max_samples, &b, NULL) == 1)
		for (size_t i = 0; i < b.sample_count; i++) {
			const struct spool_string *s = name_of(&b, i);
			const bool is_it =
				s && s->len == strlen(want) && !memcmp(s->p, want, s->len);

			ret.unnamed += !s;
			ret.named += is_it;
			ret.others += s && !is_it;
			if (!is_it)
				continue;
			ret.last = sample_number(&b.samples[i]);
			ret.first = ret.first == NONE ? ret.last : ret.first;
		}
	return ret;
}

static struct counts count_all(struct memory_io *m, size_t max_samples, const char *want)
{
	struct spool_reader *r = reader(m);
	struct counts ret;

	spool_reader_from_start(r);
	spool_reader_name_late(r);
	ret = count_names(r, max_samples, want);
	spool_reader_close(r);
	return ret;
}

/* By process, its start, the time, the address of the call, and the boot. */
static void test_whose(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_origin other = origin;
	struct counts c;

	add_many(w, 0, 100);
	name(w, &(struct spool_late_scope){3, START_NS, sample_time(20) + 999, sample_time(60)},
	     BASE, BASE_LEN, "late");
	c = count_all(m, 7, "late");
	/* 23, 33, 43 and 53; the time of a sample is rounded down, and so is that of a beginning.
	 */
	assert_int_equal(c.named, 4);
	assert_int_equal(c.first, 23);
	assert_int_equal(c.last, 53);
	assert_int_equal(c.unnamed, 96);
	name(w, &(struct spool_late_scope){4, START_NS + 1, 0, ALL_NS}, BASE, BASE_LEN,
	     "another start");
	assert_int_equal(count_all(m, 7, "another start").named, 0);
	/* The call is before the address that it returns to: 15 calls at UINT64_MAX - 16. */
	name(w, &(struct spool_late_scope){5, START_NS, 0, ALL_NS}, UINT64_MAX - 16, 1, "one byte");
	c = count_all(m, 7, "one byte");
	assert_int_equal(c.named, 1);
	assert_int_equal(c.first, 15);
	/* A name of nothing is none. */
	name(w, &(struct spool_late_scope){6, START_NS, 0, ALL_NS}, BASE, BASE_LEN, "");
	c = count_all(m, 1000, "late");
	assert_int_equal(c.unnamed, 95);
	spool_writer_close(w);
	/* The process of that pid after the next boot. */
	other.boot_id[0]++;
	assert_int_equal(spool_writer_open(&w, "spool", &small, &other, &m->io, NULL), 0);
	add_many(w, 100, 100);
	name(w, &third, BASE, BASE_LEN, "new boot");
	spool_writer_close(w);
	c = count_all(m, 1000, "new boot");
	assert_int_equal(c.named, 10);
	assert_int_equal(c.first, 103);
}

/* The last one wins; what was named at once stays. */
static void test_later_wins(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct counts c;

	add_many(w, 0, 100);
	name(w, &third, BASE, BASE_LEN, "first");
	name(w, &third, UINT64_MAX - 50, 50, "second"); /* calls of samples 3 to 43 */
	c = count_all(m, 7, "second");
	assert_int_equal(c.named, 5);
	assert_int_equal(c.last, 43);
	assert_int_equal(c.others, 5);
	/* A reader that does not ask sees what was stored. */
	assert_int_equal(drain_all(m).count, 100);
	spool_writer_close(w);
}

/* Whether samples and names are in one segment or in several, packed or not; the batches end where
 * they end without names. */
static void check_segments(struct memory_io *m, size_t max_samples, uint64_t count)
{
	struct spool_reader *plain = reader(m), *named = reader(m);
	struct spool_batch a, b;
	struct counts c = count_all(m, max_samples, "late");

	assert_int_equal(c.named, (count + 6) / 10);
	assert_int_equal(c.unnamed, count - c.named);
	spool_reader_from_start(plain);
	spool_reader_from_start(named);
	spool_reader_name_late(named);
	while (spool_reader_next(plain, max_samples, &a, NULL) == 1) {
		assert_int_equal(spool_reader_next(named, max_samples, &b, NULL), 1);
		assert_int_equal(a.sample_count, b.sample_count);
		assert_int_equal(a.segment, b.segment);
		assert_int_equal(a.end_offset, b.end_offset);
		assert_int_equal(a.is_stable, b.is_stable);
		assert_memory_equal(a.id, b.id, sizeof(a.id));
	}
	assert_int_equal(spool_reader_next(named, max_samples, &b, NULL), 0);
	/* Back to the beginning, as the shipper goes. */
	spool_reader_seek(named, 1, 0);
	assert_int_equal(count_names(named, max_samples, "late").named, c.named);
	spool_reader_close(plain);
	spool_reader_close(named);
}

static void test_segments(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	const uint64_t count = 5000;
	size_t segments;

	add_many(w, 0, count);
	segments = memory_io_count(m, SEGMENT);
	assert_true(segments > 3);
	name(w, &third, BASE, BASE_LEN, "late");
	check_segments(m, 100000, count);
	check_segments(m, 13, count);
	spool_writer_close(w);
	for (size_t i = 0; i < segments; i++) {
		char temp[SPOOL_COMPRESSED_NAME_MAX], to[SPOOL_NAME_MAX];
		const struct memory_file *f = memory_io_file(m, SEGMENT, i);
		uint64_t number = strtoull(f->name + strlen(SEGMENT), NULL, 16), len;

		if (spool_compress(&m->io, 0, number, &len, NULL) == 1)
			m->io.rename(m, 0, spool_compressed_name(number, temp),
				     spool_segment_name(number, to));
	}
	check_segments(m, 100000, count);
	check_segments(m, 13, count);
	/* A packed segment says that there are some; of one that says none, nothing is looked for.
	 */
	for (size_t i = 0; i < segments; i++) {
		_cleanup_(spool_file_close) struct spool_file file;
		const struct memory_file *f = memory_io_file(m, SEGMENT, i);
		uint64_t number = strtoull(f->name + strlen(SEGMENT), NULL, 16);

		assert_int_equal(spool_file_open(&file, &m->io, 0, number, NULL), 0);
		if (file.info.block_count)
			assert_int_equal(file.info.late_told, i + 1 == segments ? 2 : 1);
	}
}

/* As names come while it is read, what is read from then on has them. */
static void test_while_reading(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_reader *r = reader(m);
	struct spool_batch b;

	spool_reader_name_late(r);
	add_many(w, 0, 40);
	assert_int_equal(spool_reader_next(r, 20, &b, NULL), 1);
	assert_null(name_of(&b, 3));
	name(w, &third, BASE, BASE_LEN, "late");
	assert_int_equal(spool_reader_next(r, 20, &b, NULL), 1);
	assert_non_null(name_of(&b, 3));
	spool_reader_back(r);
	assert_int_equal(spool_reader_next(r, 20, &b, NULL), 1);
	assert_non_null(name_of(&b, 3));
	spool_reader_rewind(r);
	assert_int_equal(spool_reader_next(r, 20, &b, NULL), 1);
	assert_non_null(name_of(&b, 3));
	spool_reader_close(r);
	spool_writer_close(w);
}

/* More names than a record, and than a segment, may hold. */
static void test_many(void **state)
{
	static struct spool_late_name rows[1024];
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	char text[200];

	memset(text, 'x', sizeof(text));
	add_many(w, 0, 1000);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		rows[i] = (struct spool_late_name){UINT64_MAX - 1 - i, 1, text, sizeof(text)};
	spool_writer_late(w, &third, rows, ARRAY_LEN(rows));
	spool_writer_close(w);
	assert_int_equal(count_all(m, 100, "x").others, 100);
}

/* Killed, or without power, in the middle of the record: samples are whole, and have no name. */
static void test_torn(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct memory_file *f;
	struct spool_reader *r;
	size_t begin, end;

	add_many(w, 0, 50);
	f = memory_io_file(m, SEGMENT, 0);
	for (begin = f->len; begin && !f->p[begin - 1]; begin--)
		;
	name(w, &third, BASE, BASE_LEN, "late");
	for (end = f->len; end && !f->p[end - 1]; end--)
		;
	assert_true(end > begin + 40);
	for (size_t at = end; at-- > begin + 8;) {
		struct counts c;

		f->p[at] = 0;
		r = reader(m);
		spool_reader_from_start(r);
		spool_reader_name_late(r);
		c = count_names(r, 100, "late");
		assert_int_equal(c.named, 0);
		assert_int_equal(c.unnamed, 50);
		spool_reader_close(r);
	}
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whose),         TEST(test_later_wins), TEST(test_segments),
		TEST(test_while_reading), TEST(test_many),       TEST(test_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
