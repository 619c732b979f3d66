/* SPDX-License-Identifier: Apache-2.0 */
/* A spool that somebody removes under its writer, on a real file system: the writer notices, counts
 * what it cannot have kept, and goes on in a directory made anew. */
#include "spool_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of what was appended since the last look nobody knows; of what comes in the pause everybody. */
static void check_goes_on(struct place *p, void (*remove)(const char *dir), struct spool_writer *w)
{
	struct err err = {0};
	struct seen seen;

	add_many(w, 0, 9);
	clock_ns += 2 * SECOND;
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	add_many(w, 9, 9);
	remove(p->spool);
	clock_ns += 2 * SECOND;
	assert_int_equal(spool_writer_flush(w, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, p->spool));
	assert_int_equal(lost(w), 9);
	add_many(w, 18, 5);
	assert_int_equal(lost(w), 14);
	clock_ns += 2 * SECOND;
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	add_many(w, 23, 9);
	assert_int_equal(lost(w), 14);
	seen = read_all(p);
	assert_int_equal(seen.count, 9);
	assert_int_equal(seen.next, 32);
	assert_int_equal(seen.losses[SPOOL_LOSS_SPOOL_ERROR], 14);
	assert_int_equal(seen.damaged_len, 0);
}

static void test_directory(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p), *second = NULL;

	check_goes_on(p, remove_spool, w);
	/* And it has the lock of the new one. */
	assert_int_equal(spool_writer_open(&second, p->spool, &small, &origin, &p->io, NULL),
			 ERR_EXISTS);
	spool_writer_close(w);
}

static void test_content(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p);

	check_goes_on(p, remove_content, w);
	spool_writer_close(w);
}

/* At the end of a segment, before anybody looked for it: all that is in it is counted. */
static void test_at_rotation(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p);
	struct seen seen;
	uint64_t n = 0, gone;

	remove_spool(p->spool);
	while (!lost(w))
		add_many(w, n++, 1);
	gone = lost(w);
	assert_true(n < 5000);
	assert_int_equal(gone, n);
	clock_ns += 2 * SECOND;
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	add_many(w, n, 7);
	seen = read_all(p);
	assert_int_equal(seen.count, 7);
	assert_true(seen.losses[SPOOL_LOSS_SPOOL_ERROR] >= gone);
	spool_writer_close(w);
}

/* Another one began there meanwhile: it is not disturbed, and what is lost is counted. */
static void test_another_writer(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p), *second;
	struct err err = {0};
	struct seen seen;

	add_many(w, 0, 9);
	remove_spool(p->spool);
	clock_ns += SECOND; /* its numbers are the greater ones */
	second = open_writer(p);
	clock_ns += SECOND;
	assert_int_equal(spool_writer_flush(w, &err), ERR_NOT_FOUND);
	for (int i = 0; i < 3; i++) {
		add_many(w, 9, 9);
		clock_ns += 2 * SECOND;
		(void)spool_writer_flush(w, NULL);
	}
	assert_int_equal(lost(w), 36);
	add_many(second, 100, 9);
	spool_writer_close(second);
	/* Its segments are the newer ones. */
	add_many(w, 18, 9);
	clock_ns += 2 * SECOND;
	(void)spool_writer_flush(w, NULL);
	add_many(w, 18, 9);
	spool_writer_close(w);
	seen = read_all(p);
	assert_int_equal(seen.count, 9);
	assert_int_equal(seen.next, 109);
}

/* It cannot be made: said, once, behind the removal; counted, and made when it can be. */
static void test_cannot_be_made(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p);
	struct err err = {0};
	unsigned int told = 0;
	int fd;

	add_many(w, 0, 9);
	remove_spool(p->spool);
	fd = open(p->spool, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* a file stands there */
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 10; i++) {
		clock_ns += 2 * SECOND;
		told += spool_writer_flush(w, &err) != 0;
		add_many(w, 9, 1);
	}
	assert_int_equal(told, 2);
	assert_non_null(strstr(err.message, "Not a directory"));
	assert_int_equal(lost(w), 19);
	assert_int_equal(unlink(p->spool), 0);
	clock_ns += 2 * SECOND;
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	add_many(w, 10, 9);
	assert_int_equal(read_all(p).count, 9);
	spool_writer_close(w);
}

/* With threads of its own, and what they have under way. */
static void test_detached(void **state)
{
	struct place *p = *state;
	const struct timespec pause = {.tv_nsec = 1000000};
	struct spool_limits limits = small;
	struct spool_writer *w = NULL;
	struct err err = {0};
	struct seen seen = {0};
	uint64_t n = 0;

	limits.sync_ns = 10000000;
	if (spool_writer_open(&w, p->spool, &limits, &origin, NULL, &err) ||
	    spool_writer_detach(w, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < 20; i++) {
		for (int j = 0; j < 30; j++) {
			add_many(w, n, 20);
			n += 20;
			nanosleep(&pause, NULL);
		}
		/* Something may be written there right now. */
		while (access(p->spool, F_OK) == 0) {
			DIR *d = opendir(p->spool);
			const struct dirent *e;

			while (d && (e = readdir(d)))
				unlinkat(dirfd(d), e->d_name, 0);
			if (d)
				closedir(d);
			rmdir(p->spool);
		}
	}
	while (access(p->spool, F_OK) || !seen.count) {
		add_many(w, n++, 1);
		nanosleep(&pause, NULL);
		if (access(p->spool, F_OK) == 0)
			seen = read_all(p);
	}
	assert_true(lost(w) > 0 && lost(w) < n);
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_directory),      PLACE_TEST(test_content),
		PLACE_TEST(test_at_rotation),    PLACE_TEST(test_another_writer),
		PLACE_TEST(test_cannot_be_made), PLACE_TEST(test_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
