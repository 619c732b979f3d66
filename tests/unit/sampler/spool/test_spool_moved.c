/* SPDX-License-Identifier: Apache-2.0 */
/* A spool that is moved away, or hidden, under its writer, on a real file system: it is left
 * without a loss, and each directory tells what it holds. Whoever removes the lock file lets no
 * second writer in. */
#include "spool_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "spool_status.h"

static void rename_dir(const char *from, const char *to)
{
	if (rename(from, to))
		fail_msg("%s", strerror(errno));
}

static void make_dir(const char *dir)
{
	assert_int_equal(mkdir(dir, 0700), 0);
}

/* The account there, as its directory would tell it. */
static struct spool_status status_of(const char *dir)
{
	struct spool_status s;
	struct err err = {0};

	if (spool_status_read(&s, dir, &err))
		fail_msg("%s", err.message);
	return s;
}

static int pass(struct spool_writer *w, struct err *err)
{
	clock_ns += 2 * SECOND;
	return spool_writer_flush(w, err);
}

/* What came before is in the old directory, what comes behind in the new one, and both say so. */
static void check_moved(struct spool_writer *w)
{
	struct err err = {0};

	add_many(w, 9, 9);
	assert_int_equal(pass(w, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "moved away"));
	add_many(w, 18, 9);
	assert_int_equal(pass(w, NULL), 0);
	add_many(w, 27, 9);
	assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(lost(w), 0);
	assert_int_equal(spool_writer_lost(w, SPOOL_LOSS_RING_FULL), 5);
}

static void check_both(struct place *p, uint64_t all)
{
	const struct seen old = read_dir(p, p->away), new = read_all(p);
	const struct spool_status before = status_of(p->away), after = status_of(p->spool);

	assert_int_equal(old.next, new.next - new.count);
	assert_int_equal(old.count + new.count, all);
	assert_true(old.count && new.count);
	assert_int_equal(old.damaged_len + new.damaged_len, 0);
	assert_int_equal(before.samples, old.count);
	assert_int_equal(after.samples, new.count);
	assert_int_equal(before.losses[SPOOL_LOSS_RING_FULL], 5);
	assert_int_equal(after.losses[SPOOL_LOSS_RING_FULL], 0);
	assert_int_equal(after.losses[SPOOL_LOSS_SPOOL_ERROR], 0);
	assert_int_equal(old.losses[SPOOL_LOSS_RING_FULL], 5);
	assert_int_equal(new.losses[SPOOL_LOSS_RING_FULL], 0);
}

static struct spool_writer *begin_moved(struct place *p)
{
	struct spool_writer *w = open_writer(p);

	spool_writer_loss(w, SPOOL_LOSS_RING_FULL, 5);
	add_many(w, 0, 9);
	assert_int_equal(pass(w, NULL), 0);
	rename_dir(p->spool, p->away);
	return w;
}

static void test_moved(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = begin_moved(p), *second = NULL;

	make_dir(p->spool);
	check_moved(w);
	check_both(p, 36);
	/* The new one is locked, the old one is free. */
	assert_int_equal(spool_writer_open(&second, p->spool, &small, &origin, &p->io, NULL),
			 ERR_EXISTS);
	assert_int_equal(spool_writer_open(&second, p->away, &small, &origin, &p->io, NULL), 0);
	spool_writer_close(second);
	spool_writer_close(w);
	check_both(p, 36);
}

/* Nothing stands there: it is made. Killed afterwards, the next one counts on. */
static void test_moved_without_another(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = begin_moved(p);
	char copy[80];

	check_moved(w);
	snprintf(copy, sizeof(copy), "%s/account", p->spool);
	assert_int_equal(access(copy, F_OK), 0);
	add_many(w, 36, 9); /* the account does not know of them yet */
	assert_int_equal(spool_writer_flush(w, NULL), 0);
	check_both(p, 45);
	spool_writer_close(w);
	w = open_writer(p);
	spool_writer_close(w);
	check_both(p, 45);
}

/* What stands there is no directory, or one that everybody may write to: it goes on in the one that
 * was moved, and says so once. */
static void test_moved_to_nothing(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = begin_moved(p);
	struct err err = {0};
	int fd = open(p->spool, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pass(w, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "still written to"));
	for (int i = 0; i < 5; i++)
		assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(unlink(p->spool), 0);
	make_dir(p->spool);
	assert_int_equal(chmod(p->spool, 01777), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(read_dir(p, p->away).count, 9);
	assert_int_equal(read_dir(p, p->spool).count, 0);
	assert_int_equal(chmod(p->spool, 0700), 0);
	add_many(w, 9, 9);
	assert_int_equal(pass(w, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "goes to the directory that is there"));
	add_many(w, 18, 9);
	assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(lost(w), 0);
	check_both(p, 27);
	spool_writer_close(w);
}

/* Hidden for a while, as by a mount that is taken away again: both directories count their own. */
static void test_moved_back(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = begin_moved(p);
	struct spool_status s;
	char other[80];

	make_dir(p->spool);
	check_moved(w);
	snprintf(other, sizeof(other), "%s/other", p->top);
	rename_dir(p->spool, other);
	rename_dir(p->away, p->spool);
	rename_dir(other, p->away);
	spool_writer_loss(w, SPOOL_LOSS_RING_FULL, 7);
	add_many(w, 36, 9);
	assert_int_equal(pass(w, NULL), ERR_NOT_FOUND);
	add_many(w, 45, 9);
	spool_writer_loss(w, SPOOL_LOSS_RING_FULL, 8);
	assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(lost(w), 0);
	spool_writer_close(w);
	s = status_of(p->spool);
	assert_int_equal(s.samples, 18 + 9);
	assert_int_equal(status_of(p->away).samples, 27);
	assert_int_equal(s.losses[SPOOL_LOSS_RING_FULL], 5 + 1);
	assert_int_equal(status_of(p->away).losses[SPOOL_LOSS_RING_FULL], 2);
	/* The data tell them of one stay at a time. */
	assert_int_equal(read_dir(p, p->away).losses[SPOOL_LOSS_RING_FULL], 2);
	assert_int_equal(read_all(p).losses[SPOOL_LOSS_RING_FULL], 1);
	/* After a kill nothing would be added either: the data say the same. */
	w = open_writer(p);
	spool_writer_close(w);
	assert_int_equal(status_of(p->spool).losses[SPOOL_LOSS_RING_FULL],
			 s.losses[SPOOL_LOSS_RING_FULL]);
	assert_int_equal(status_of(p->spool).samples, 27);
}

/* With threads of its own, again and again: each sample is in one directory, and none is lost. */
static void test_moved_detached(void **state)
{
	enum {
		MOVES = 12
	};
	struct place *p = *state;
	const struct timespec pause = {.tv_nsec = 1000000};
	struct spool_limits limits = small;
	struct spool_writer *w = NULL;
	struct err err = {0};
	uint64_t n = 0, counted = 0, stored = 0;
	char aside[MOVES][80];

	limits.sync_ns = 10000000;
	limits.total_len = 64 * MIB;
	if (spool_writer_open(&w, p->spool, &limits, &origin, NULL, &err) ||
	    spool_writer_detach(w, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < MOVES; i++) {
		char segments[96];
		DIR *d = NULL;
		bool is_followed = false;

		snprintf(aside[i], sizeof(aside[i]), "%s/aside%d", p->top, i);
		for (int j = 0; j < 10; j++) {
			add_many(w, n, 20);
			n += 20;
			nanosleep(&pause, NULL);
		}
		rename_dir(p->spool, aside[i]);
		if (i % 2)
			(void)mkdir(p->spool, 0700); /* it may stand there already */
		snprintf(segments, sizeof(segments), "%s", p->spool);
		while (!is_followed) {
			const struct dirent *e;

			add_many(w, n++, 1);
			nanosleep(&pause, NULL);
			d = opendir(segments);
			while (d && (e = readdir(d)))
				is_followed |= !strncmp(e->d_name, "segment-", 8);
			if (d)
				closedir(d);
		}
	}
	spool_writer_end(w);
	assert_int_equal(lost(w), 0);
	spool_writer_close(w);
	for (int i = 0; i < MOVES; i++) {
		stored += read_dir(p, aside[i]).count;
		counted += status_of(aside[i]).samples;
		remove_spool(aside[i]);
	}
	assert_int_equal(stored + read_all(p).count, n);
	assert_int_equal(counted + status_of(p->spool).samples, n);
}

/* Where the thread that does the file work is held, once. */
struct gate {
	atomic_uint calls; /* until it is held; 0: it goes through */
	sem_t held, open;
};

static struct gate looking, ending;

static void pass_gate(struct gate *g)
{
	unsigned int calls = atomic_load(&g->calls);

	while (calls && !atomic_compare_exchange_weak(&g->calls, &calls, calls - 1))
		;
	if (calls != 1)
		return;
	sem_post(&g->held);
	while (sem_wait(&g->open))
		;
}

static int is_at_gate(void *ctx, int fd, int dir_fd, const char *path)
{
	if (dir_fd == AT_FDCWD)
		pass_gate(&looking);
	return io_system()->is_at(ctx, fd, dir_fd, path);
}

static int truncate_gate(void *ctx, int fd, off_t len)
{
	pass_gate(&ending);
	return io_system()->truncate(ctx, fd, len);
}

static void hold(struct gate *g, unsigned int calls)
{
	sem_init(&g->held, 0, 0);
	sem_init(&g->open, 0, 0);
	atomic_store(&g->calls, calls);
}

static void await_held(struct gate *g)
{
	while (sem_wait(&g->held))
		;
}

/* The writer is ahead of the thread at either end: it has begun another segment when the thread
 * sees that the spool was moved, and has added to the one behind when the thread moves. */
static void test_moved_meanwhile(void **state)
{
	struct place *p = *state;
	const struct timespec pause = {.tv_nsec = 1000000};
	struct spool_limits limits = small;
	struct io io = *io_system();
	struct spool_writer *w = NULL;
	struct err err = {0};
	uint64_t n = 0, first;

	limits.sync_ns = 10000000;
	io.is_at = is_at_gate;
	io.truncate = truncate_gate;
	if (spool_writer_open(&w, p->spool, &limits, &origin, &io, &err) ||
	    spool_writer_detach(w, &err))
		fail_msg("%s", err.message);
	first = spool_writer_segment(w);
	rename_dir(p->spool, p->away);
	hold(&looking, 1);
	await_held(&looking);
	while (spool_writer_segment(w) == first)
		add(w, n++);
	hold(&ending, 2);
	sem_post(&looking.open);
	for (int i = 0; i < 10000 && spool_writer_segment(w) == first + 1; i++) {
		add_many(w, n++, 1);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(spool_writer_segment(w), first + 2);
	await_held(&ending);
	add_many(w, n, 9);
	n += 9;
	sem_post(&ending.open);
	spool_writer_end(w);
	assert_int_equal(lost(w), 0);
	spool_writer_close(w);
	assert_int_equal(read_all(p).count, 9);
	assert_int_equal(status_of(p->spool).samples, 9);
	assert_int_equal(read_dir(p, p->away).count, n - 9);
	assert_int_equal(status_of(p->away).samples, n - 9);
}

/* --- the lock -------------------------------------------------------------------------------- */

static void test_lock_removed(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p), *second = NULL;
	struct err err = {0};
	char path[80];

	snprintf(path, sizeof(path), "%s/lock", p->spool);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(unlink(path), 0);
		assert_int_equal(
			spool_writer_open(&second, p->spool, &small, &origin, &p->io, &err),
			ERR_EXISTS);
		assert_non_null(strstr(err.message, "another capturer"));
		/* Whoever tried has left a file there, which nobody has locked. */
		add_many(w, 9 * (uint64_t)i, 9);
		assert_int_equal(pass(w, &err), ERR_NOT_FOUND);
		assert_non_null(strstr(err.message, "/lock: was removed or exchanged"));
		assert_int_equal(pass(w, NULL), 0);
		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(
			spool_writer_open(&second, p->spool, &small, &origin, &p->io, &err),
			ERR_EXISTS);
		assert_null(strstr(err.message, "lock file"));
	}
	assert_int_equal(lost(w), 0);
	assert_int_equal(read_all(p).count, 27);
	spool_writer_close(w);
}

/* By a capturer that knows of no mark, as of version 0.1: nothing of ours is mixed with its
 * segments, and what cannot be stored is counted. */
static void test_lock_taken(void **state)
{
	struct place *p = *state;
	struct spool_writer *w = open_writer(p);
	struct err err = {0};
	char path[80];
	int fd;

	add_many(w, 0, 9);
	snprintf(path, sizeof(path), "%s/lock", p->spool);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB));
	/* One that only starts would have it for a moment. */
	assert_int_equal(pass(w, NULL), 0);
	/* From then on no account is written there either. */
	snprintf(path, sizeof(path), "%s/account", p->spool);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pass(w, &err), ERR_EXISTS);
	assert_non_null(strstr(err.message, "another process has locked"));
	assert_int_not_equal(access(path, F_OK), 0);
	add_many(w, 9, 9);
	assert_int_equal(pass(w, NULL), 0);
	add_many(w, 18, 9);
	assert_int_equal(lost(w), 18);
	assert_int_equal(pass(w, NULL), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(pass(w, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	add_many(w, 27, 9);
	assert_int_equal(lost(w), 18);
	assert_int_equal(read_all(p).count, 18);
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_moved),
		PLACE_TEST(test_moved_without_another),
		PLACE_TEST(test_moved_to_nothing),
		PLACE_TEST(test_moved_back),
		PLACE_TEST(test_moved_detached),
		PLACE_TEST(test_moved_meanwhile),
		PLACE_TEST(test_lock_removed),
		PLACE_TEST(test_lock_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
