/* SPDX-License-Identifier: Apache-2.0 */
/* What became of all samples is known over runs, and when nothing could be stored. */
#include "spool_account.h"
#include "spool_samples.h"

#include <errno.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_over_runs), TEST(test_nothing_stored), TEST(test_dead_disk),
		TEST(test_torn),      TEST(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
