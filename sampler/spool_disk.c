/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "spool_disk_priv.h"

#define LOCK_NAME "lock"

/* --- threads --------------------------------------------------------------------------------- */

/* With the lock held. A chore that is done is taken first: it may end a segment. */
static bool take_done(struct spool_disk *d)
{
	struct chore c;

	if (d->chore.state != CHORE_DONE)
		return false;
	c = d->chore; /* before that it is the helper's */
	d->chore.state = CHORE_NONE;
	pthread_mutex_unlock(&d->lock);
	spool_disk_take_chore(d, &c);
	pthread_mutex_lock(&d->lock);
	return true;
}

static struct spool_chunk *pop(struct spool_disk *d)
{
	struct spool_chunk *c = d->queue;

	if (!c)
		return NULL;
	d->queue = c->next;
	if (!d->queue)
		d->queue_end = &d->queue;
	d->queue_len -= sizeof(*c) + c->len;
	return c;
}

static void wait_until(struct spool_disk *d, uint64_t due_ns)
{
	uint64_t now = spool_disk_now_ns(d);
	struct timespec at;

	if (due_ns <= now)
		due_ns = now + 1000000;
	/* struct io's clock is this one, or a test's; only how long to wait is taken from it. */
	clock_gettime(CLOCK_MONOTONIC, &at);
	due_ns = due_ns - now + (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	at.tv_sec = (time_t)(due_ns / 1000000000);
	at.tv_nsec = (long)(due_ns % 1000000000);
	pthread_cond_timedwait(&d->wake, &d->lock, &at);
}

static void *work(void *arg)
{
	struct spool_disk *d = arg;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		struct spool_chunk *c;

		if (take_done(d))
			continue;
		c = pop(d);
		if (!c && d->stopping)
			break;
		pthread_mutex_unlock(&d->lock);
		if (c)
			spool_disk_append(d, c);
		free(c);
		spool_disk_do_due(d);
		pthread_mutex_lock(&d->lock);
		if (!d->queue && !d->stopping && d->chore.state != CHORE_DONE)
			wait_until(d, spool_disk_next_due(d));
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static void *help(void *arg)
{
	struct spool_disk *d = arg;
	bool is_urgent;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		while (d->chore.state != CHORE_ASKED && !d->helper_stopping)
			pthread_cond_wait(&d->wake_helper, &d->lock);
		if (d->chore.state != CHORE_ASKED)
			break;
		pthread_mutex_unlock(&d->lock);
		spool_disk_run_chore(d, &d->chore);
		is_urgent = d->chore.rc != 0 || d->chore.kind != CHORE_SYNC;
		pthread_mutex_lock(&d->lock);
		d->chore.state = CHORE_DONE;
		/* The worker wakes up before long by itself: at the next chunk, or the next sync.
		 */
		if (is_urgent)
			pthread_cond_signal(&d->wake);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* Signals are the caller's business. */
static int start_thread(pthread_t *ret, void *(*run)(void *), struct spool_disk *d)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(ret, NULL, run, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int spool_disk_detach(struct spool_disk *d, struct err *err)
{
	int rc = start_thread(&d->helper, help, d);

	if (rc)
		return err_sys(err, rc, "a thread for the spool");
	d->detached = true;
	rc = start_thread(&d->worker, work, d);
	if (!rc)
		return 0;
	d->detached = false;
	pthread_mutex_lock(&d->lock);
	d->helper_stopping = true;
	pthread_cond_signal(&d->wake_helper);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->helper, NULL);
	return err_sys(err, rc, "a thread for the spool");
}

/* The worker goes first, with everything that was handed over done. */
static void join(struct spool_disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->worker, NULL);
	pthread_mutex_lock(&d->lock);
	d->helper_stopping = true;
	pthread_cond_signal(&d->wake_helper);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->helper, NULL);
	pthread_mutex_lock(&d->lock);
	take_done(d);
	pthread_mutex_unlock(&d->lock);
}

/* --- the public rest ------------------------------------------------------------------------- */

struct spool_chunk *spool_chunk_new(size_t len)
{
	struct spool_chunk *c = malloc(sizeof(*c) + len);

	if (c)
		*c = (struct spool_chunk){.len = len};
	return c;
}

bool spool_disk_put(struct spool_disk *d, struct spool_chunk *chunk)
{
	const uint64_t len = sizeof(*chunk) + chunk->len;
	bool fits;

	if (!d->detached) {
		spool_disk_append(d, chunk);
		free(chunk);
		return true;
	}
	pthread_mutex_lock(&d->lock);
	fits = d->queue_len + len <= LIMIT_SPOOL_QUEUE;
	if (fits) {
		*d->queue_end = chunk;
		d->queue_end = &chunk->next;
		d->queue_len += len;
	} else {
		d->state.lost += chunk->samples;
		if (chunk->segment > d->state.given_up)
			d->state.given_up = chunk->segment;
	}
	pthread_mutex_unlock(&d->lock);
	/* Not before: who is woken would wait for the lock. */
	if (fits)
		pthread_cond_signal(&d->wake);
	else
		free(chunk);
	return fits;
}

void spool_disk_poll(struct spool_disk *d)
{
	if (!d->detached)
		spool_disk_do_due(d);
}

void spool_disk_look(struct spool_disk *d, struct spool_disk_state *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->state;
	pthread_mutex_unlock(&d->lock);
}

int spool_disk_error(struct spool_disk *d, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&d->lock);
	if (d->unreported) {
		d->unreported = false;
		rc = d->err.code;
		if (err)
			*err = d->err;
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

void spool_disk_fail(struct spool_disk *d, uint64_t segment, const struct err *why)
{
	pthread_mutex_lock(&d->lock);
	d->err = *why;
	d->unreported = true;
	if (segment > d->state.given_up)
		d->state.given_up = segment;
	pthread_mutex_unlock(&d->lock);
}

uint64_t spool_disk_first(const struct spool_disk *d)
{
	return d->first;
}

static int open_directory(struct spool_disk *d, const char *dir, struct err *err)
{
	const struct io *io = d->io;
	int rc = io->make_dir(io->ctx, AT_FDCWD, dir, 0700);

	if (rc && rc != -EEXIST)
		return err_sys(err, -rc, "%s", dir);
	d->dir_fd = io->open(io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (d->dir_fd < 0)
		return err_sys(err, -d->dir_fd, "%s", dir);
	d->lock_fd = io->open(io->ctx, d->dir_fd, LOCK_NAME,
			      O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (d->lock_fd < 0)
		return err_sys(err, -d->lock_fd, "%s/" LOCK_NAME, dir);
	rc = io->lock(io->ctx, d->lock_fd);
	if (rc == -EWOULDBLOCK)
		return err_set(err, ERR_EXISTS, "%s: another capturer writes to this spool", dir);
	return rc ? err_sys(err, -rc, "%s/" LOCK_NAME, dir) : 0;
}

static int take_stock(struct spool_disk *d, struct err *err)
{
	uint64_t next, last = 0;
	int rc;

	spool_segments_clean(d->io, d->dir_fd);
	rc = spool_keep_init(&d->keep, d->io, d->dir_fd, &d->limits, d->origin, &last, err);
	/* Milliseconds since 1970, so that a directory that was removed does not use the numbers,
	 * and with them the batch ids, of its predecessor again. */
	next = d->io->real_ns(d->io->ctx) / 1000000;
	d->first = (last < next ? next : last) + 1;
	return rc;
}

int spool_disk_open(struct spool_disk **ret, const char *dir, const struct spool_limits *limits,
		    const struct spool_origin *origin, const struct io *io, struct err *err)
{
	struct spool_disk *d = calloc(1, sizeof(*d));
	pthread_condattr_t attr;
	int rc;

	if (!d)
		return err_set(err, ERR_MEMORY, "out of memory for the spool");
	*d = (struct spool_disk){
		.io = io,
		.origin = origin,
		.limits = *limits,
		.dir_fd = -1,
		.lock_fd = -1,
		.fd = -1,
	};
	d->queue_end = &d->queue;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attr);
	pthread_cond_init(&d->wake_helper, NULL);
	pthread_condattr_destroy(&attr);
	rc = open_directory(d, dir, err);
	if (!rc)
		rc = take_stock(d, err);
	if (rc) {
		spool_disk_close(d);
		return rc;
	}
	*ret = d;
	return 0;
}

/* The segment that just ended, so that a capturer that ends in order leaves nothing large. */
static void pack_last(struct spool_disk *d)
{
	const struct spool_kept *k = spool_keep_unpacked(&d->keep);

	if (k && k->number == d->segment)
		spool_disk_ask(d, CHORE_PACK, -1, k->number);
}

void spool_disk_close(struct spool_disk *d)
{
	bool packs;

	if (!d)
		return;
	packs = d->detached;
	if (packs)
		join(d);
	d->detached = false;
	spool_disk_end_segment(d, true);
	spool_disk_finish_next(d);
	if (packs)
		pack_last(d);
	if (d->fd >= 0)
		d->io->close(d->io->ctx, d->fd);
	if (d->lock_fd >= 0)
		d->io->close(d->io->ctx, d->lock_fd);
	if (d->dir_fd >= 0)
		d->io->close(d->io->ctx, d->dir_fd);
	spool_keep_done(&d->keep);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->wake);
	pthread_cond_destroy(&d->wake_helper);
	free(d);
}
