/* SPDX-License-Identifier: Apache-2.0 */
/* What became of all samples is known over runs, and when nothing could be stored. */
#include "crc32c.h"
#include "spool_account.h"
#include "spool_format.h"
#include "spool_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct spool_account account_of(struct memory_io *m)
{
	struct spool_account a;

	spool_account_read(&m->io, 0, &a);
	return a;
}

/* So many samples, and losses that the capturer counted. */
static void run_once(struct memory_io *m, uint64_t first, uint64_t count, uint64_t missed)
{
	struct spool_writer *w = writer(m, &small);
	struct err err;

	spool_writer_loss(w, SPOOL_LOSS_MISSED, missed);
	for (uint64_t n = first; n < first + count; n++)
		add(w, n);
	(void)spool_writer_flush(w, &err);
	spool_writer_close(w);
}

static void test_over_runs(void **state)
{
	struct memory_io *m = *state;
	struct spool_account a = account_of(m);

	assert_int_equal(a.sequence, 0);
	for (uint64_t run = 1; run <= 5; run++) {
		run_once(m, 100 * run, 10 * run, run);
		a = account_of(m);
		assert_int_equal(a.run_samples, 10 * run);
		assert_int_equal(a.samples, 5 * run * (run + 1));
		assert_int_equal(a.run_losses[SPOOL_LOSS_MISSED], run);
		assert_int_equal(a.losses[SPOOL_LOSS_MISSED], run * (run + 1) / 2);
		assert_string_equal(a.why, "");
	}
	/* A run in which nothing happens loses nothing of what was known. */
	run_once(m, 1000, 0, 0);
	a = account_of(m);
	assert_int_equal(a.run_samples, 0);
	assert_int_equal(a.samples, 150);
	assert_int_equal(a.losses[SPOOL_LOSS_MISSED], 15);
}

/* Below the floor of the file system no segment begins, and the account says so all the time; when
 * there is room again, that it is over, and what it cost. */
static void test_nothing_stored(void **state)
{
	struct memory_io *m = *state;
	const uint64_t free_bytes = m->free_bytes;
	struct spool_account a;
	struct spool_writer *w;
	struct err err;

	m->free_bytes = 0;
	w = writer(m, &small);
	for (uint64_t n = 0; n < 100; n++)
		add(w, n);
	assert_int_equal(spool_writer_flush(w, &err), ERR_LIMIT);
	m->mono_ns += 3 * SECOND;
	(void)spool_writer_flush(w, &err);
	a = account_of(m);
	assert_int_equal(a.run_samples, 100);
	assert_int_equal(a.run_losses[SPOOL_LOSS_SPOOL_ERROR], 100);
	assert_non_null(strstr(a.why, "free"));
	assert_int_equal(spool_writer_why(w, &err), ERR_LIMIT);
	m->free_bytes = free_bytes;
	m->mono_ns += 3 * SECOND;
	(void)spool_writer_flush(w, &err);
	add_many(w, 100, 10);
	assert_int_equal(spool_writer_why(w, &err), 0);
	spool_writer_close(w);
	assert_int_equal(drain_all(m).count, 10);
	a = account_of(m);
	assert_int_equal(a.samples, 110);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 100);
	assert_string_equal(a.why, "");
	m->free_bytes = 0;
	run_once(m, 200, 5, 0);
	a = account_of(m);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 105);
	assert_int_equal(a.run_losses[SPOOL_LOSS_SPOOL_ERROR], 5);
	assert_non_null(strstr(a.why, "free"));
}

/* A disk that takes nothing at all leaves the account as it was, and the capturer in one piece. */
static void test_dead_disk(void **state)
{
	struct memory_io *m = *state;
	struct spool_account before, after;

	run_once(m, 0, 10, 3);
	before = account_of(m);
	m->fail_on = true;
	m->error = -EROFS;
	{
		struct spool_writer *w = NULL;
		struct err err;

		if (!spool_writer_open(&w, "spool", &small, &origin, &m->io, &err)) {
			add_many(w, 10, 10);
			assert_int_not_equal(spool_writer_why(w, &err), 0);
		}
		spool_writer_close(w);
	}
	after = account_of(m);
	assert_memory_equal(&before, &after, sizeof(before));
}

/* The half that a power cut tore does not count. */
static void test_torn(void **state)
{
	struct memory_io *m = *state;
	struct spool_account first, a;
	struct memory_file *f;

	run_once(m, 0, 10, 3);
	first = account_of(m);
	run_once(m, 10, 10, 3);
	a = account_of(m);
	assert_true(a.sequence > first.sequence);
	f = memory_io_file(m, "account", 0);
	f->p[a.sequence % 2 * 4096 + 40] ^= 1;
	a = account_of(m);
	assert_true(a.sequence > 0);
	assert_true(a.samples == 10 || a.samples == 20);
	f->p[(a.sequence % 2) * 4096 + 40] ^= 1;
	assert_int_equal(account_of(m).sequence, 0);
}

/* A version that kept no account left its losses in the data. */
static void test_without(void **state)
{
	struct memory_io *m = *state;
	struct spool_account a;

	run_once(m, 0, 10, 7);
	m->io.unlink(m, 0, "account");
	run_once(m, 10, 10, 2);
	a = account_of(m);
	assert_int_equal(a.losses[SPOOL_LOSS_MISSED], 9);
	assert_int_equal(a.run_losses[SPOOL_LOSS_MISSED], 2);
}

/* Nothing more of it gets to the disk, and its lock is free. */
static void kill_writer(struct memory_io *m, struct spool_writer *w)
{
	m->fail_on = true;
	m->error = -EIO;
	spool_writer_close(w);
	m->fail_on = false;
}

/* The account is as new as the data. */
static void add_told(struct memory_io *m, struct spool_writer *w, uint64_t first, uint64_t count)
{
	add_many(w, first, count);
	m->mono_ns += 3 * SECOND;
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	assert_int_equal(account_of(m).run_stored, first + count);
}

/* As the next writer finds it. */
static struct spool_account account_after(struct memory_io *m)
{
	spool_writer_close(writer(m, &small));
	return account_of(m);
}

/* The account is written behind the data. What a killed writer had stored since is counted all the
 * same, by who reads it at once and by the next writer for good, and only once. */
static void test_killed(void **state)
{
	struct memory_io *m = *state;
	uint64_t n = 0;

	for (uint64_t run = 1; run <= 4; run++) {
		struct spool_writer *w = writer(m, &small);
		struct spool_segments found;
		struct spool_account a;

		add_many(w, n++, 1);
		/* The last of them through several segments, some of which limits drop. */
		for (uint64_t i = 0; i < (run < 4 ? 10 * run : 3000); i++) {
			if (i == 5)
				spool_writer_loss(w, SPOOL_LOSS_MISSED, run);
			add_many(w, n++, 1);
		}
		kill_writer(m, w);
		a = account_of(m);
		assert_true(a.samples < n);
		assert_int_equal(spool_segments_list(&m->io, 0, &found, NULL), 0);
		spool_account_catch_up(&m->io, 0, &found, false, &a);
		free(found.numbers);
		assert_int_equal(a.samples, n);
		for (int again = 0; again < 2; again++) {
			a = account_after(m);
			assert_int_equal(a.samples, n);
			assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
			assert_int_equal(a.losses[SPOOL_LOSS_MISSED], run * (run + 1) / 2);
			assert_int_equal(a.run_samples, 0);
		}
		assert_int_equal(drain_all(m).count + a.losses[SPOOL_LOSS_SPOOL_DROPPED], n);
	}
	assert_true(memory_io_count(m, SEGMENT) > 8);
}

/* One that is killed before it wrote an account of its own: what it stored is counted with the run
 * before. */
static void test_killed_early(void **state)
{
	struct memory_io *m = *state;
	struct spool_account before, a;
	struct memory_file *f;
	struct spool_writer *w;
	uint8_t copy[8192];

	run_once(m, 0, 10, 3);
	before = account_of(m);
	f = memory_io_file(m, "account", 0);
	assert_int_equal(f->len, sizeof(copy));
	memcpy(copy, f->p, sizeof(copy));
	w = writer(m, &small);
	add_many(w, 10, 7);
	add_many(w, 17, 3);
	kill_writer(m, w);
	memcpy(f->p, copy, sizeof(copy));
	a = account_of(m);
	assert_memory_equal(&a, &before, sizeof(a));
	a = account_after(m);
	assert_int_equal(a.samples, 20);
	assert_int_equal(a.losses[SPOOL_LOSS_MISSED], 3);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
}

/* What had come, and got nowhere before the end, is lost; only the next writer knows that. */
static void test_under_way(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_segments found;
	struct spool_account a;

	add_told(m, w, 0, 20);
	kill_writer(m, w);
	a = account_of(m);
	a.samples = a.run_samples = 25;
	assert_int_equal(spool_account_write(&m->io, 0, &a), 0);
	assert_int_equal(spool_segments_list(&m->io, 0, &found, NULL), 0);
	spool_account_catch_up(&m->io, 0, &found, false, &a);
	free(found.numbers);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
	a = account_after(m);
	assert_int_equal(a.samples, 25);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 5);
}

/* Another writer is kept out, and leaves no account. */
static void test_second_writer(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small), *second = NULL;
	struct spool_account before, after;
	struct err err;

	add_told(m, w, 0, 20);
	add_told(m, w, 20, 20);
	before = account_of(m);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(spool_writer_open(&second, "spool", &small, &origin, &m->io, &err),
				 ERR_EXISTS);
		after = account_of(m);
		assert_memory_equal(&before, &after, sizeof(before));
	}
	spool_writer_close(w);
	assert_int_equal(account_of(m).samples, 40);
}

/* Somebody removes the segments and leaves the account: it is not added to itself. */
static void test_emptied(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_account a;
	struct err err;

	add_told(m, w, 0, 10);
	m->io.unlink(m, 0, memory_io_file(m, SEGMENT, 0)->name);
	add_many(w, 10, 5);
	for (uint64_t i = 0; i < 4; i++) {
		m->mono_ns += 3 * SECOND;
		(void)spool_writer_flush(w, &err);
	}
	add_many(w, 15, 5);
	spool_writer_close(w);
	a = account_of(m);
	assert_int_equal(a.samples, 20);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 5);
	assert_int_equal(drain_all(m).count, 5);
}

/* The newer half, as an older version would have written it over this one's. */
static struct spool_disk_account *as_older(struct memory_io *m)
{
	struct memory_file *f = memory_io_file(m, "account", 0);
	struct spool_disk_account *half = (void *)(f->p + account_of(m).sequence % 2 * 4096);

	half->minor = 0;
	half->crc = 0;
	half->crc = crc32c(0, half, sizeof(*half));
	return half;
}

/* Older versions read the front and its checksum; what they write is taken as it stands, whatever
 * is left behind it. So is one whose rear is damaged. */
static void test_older(void **state)
{
	struct memory_io *m = *state;
	struct spool_writer *w = writer(m, &small);
	struct spool_disk_account *half, front;
	struct spool_account a;

	add_told(m, w, 0, 10);
	add_many(w, 10, 10);
	kill_writer(m, w);
	half = (void *)(memory_io_file(m, "account", 0)->p + account_of(m).sequence % 2 * 4096);
	assert_int_equal(half->minor, SPOOL_ACCOUNT_MINOR);
	front = *half;
	front.crc = 0;
	assert_int_equal(half->crc, crc32c(0, &front, sizeof(front)));
	((uint8_t *)(half + 1))[30] ^= 1;
	a = account_of(m);
	assert_int_equal(a.samples, 10);
	assert_int_equal(a.segment, 0);
	((uint8_t *)(half + 1))[30] ^= 1;
	assert_int_equal(account_of(m).run_stored, 10);
	as_older(m);
	a = account_of(m);
	assert_int_equal(a.samples, 10);
	assert_int_equal(a.segment, 0);
	assert_int_equal(account_after(m).samples, 10);
}

static uint64_t bytes_read;

static ssize_t count_pread(void *ctx, int fd, void *p, size_t len, off_t off)
{
	struct memory_io plain;

	memory_io_init(&plain);
	bytes_read += len;
	return plain.io.pread(ctx, fd, p, len, off);
}

/* However much stands behind the place that an account states. */
static void test_bounded(void **state)
{
	struct memory_io *m = *state;
	struct spool_account a = {.segment = 1};
	struct spool_segments found;
	struct memory_file *f;

	for (uint64_t n = 0; n < 3; n++)
		run_once(m, 10 * n, 10, 0);
	for (size_t n = 0; n < 3; n++) {
		f = memory_io_file(m, SEGMENT, n);
		f->p = realloc(f->p, 33 * MIB);
		assert_non_null(f->p);
		memset(f->p + f->len, 0, 33 * MIB - f->len);
		f->len = 33 * MIB;
	}
	assert_int_equal(spool_segments_list(&m->io, 0, &found, NULL), 0);
	assert_int_equal(found.count, 3);
	m->io.pread = count_pread;
	spool_account_catch_up(&m->io, 0, &found, true, &a);
	free(found.numbers);
	assert_true(bytes_read > 60 * MIB && bytes_read < 70 * MIB);
	assert_int_equal(a.samples, 20);
	assert_int_equal(a.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_over_runs),    TEST(test_nothing_stored), TEST(test_dead_disk),
		TEST(test_torn),         TEST(test_without),        TEST(test_killed),
		TEST(test_killed_early), TEST(test_under_way),      TEST(test_second_writer),
		TEST(test_emptied),      TEST(test_older),          TEST(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
