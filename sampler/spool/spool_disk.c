/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "spool_disk_priv.h"

#define PACKED_LAST_LEN (UINT64_C(1) << 20)

/* --- threads --------------------------------------------------------------------------------- */

/* Takes an I/O job that is done. The caller holds the lock, and takes the job before more chunks,
 * because it may end a segment. */
static void take_done(struct spool_disk *d)
{
	struct io_job c;

	if (d->io_job.state != IO_JOB_DONE)
		return;
	c = d->io_job;
	d->io_job.state = IO_JOB_NONE;
	pthread_mutex_unlock(&d->lock);
	spool_disk_take_io_job(d, &c);
	pthread_mutex_lock(&d->lock);
}

static struct spool_chunk *pop_chunk(struct spool_disk *d)
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
	/* struct io may have the clock of a test; only the length of the wait is taken from it. */
	clock_gettime(CLOCK_MONOTONIC, &at);
	due_ns = due_ns - now + (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	at.tv_sec = (time_t)(due_ns / 1000000000);
	at.tv_nsec = (long)(due_ns % 1000000000);
	pthread_cond_timedwait(&d->wake, &d->lock, &at);
}

/* Works until nothing is left to do. The caller holds the lock, and nobody else works. */
static void work_off(struct spool_disk *d)
{
	d->is_working = true;
	for (;;) {
		struct spool_chunk *c;

		take_done(d);
		c = pop_chunk(d);
		if (!c && d->stopping)
			break;
		pthread_mutex_unlock(&d->lock);
		if (c)
			spool_disk_append(d, c);
		free(c);
		spool_disk_do_due(d);
		pthread_mutex_lock(&d->lock);
		if (!d->queue && d->io_job.state != IO_JOB_DONE)
			break;
	}
	d->is_working = false;
}

/* Does the I/O job. The caller holds the lock, which is released meanwhile. */
static void run_io_job(struct spool_disk *d)
{
	d->in_io_job = true;
	pthread_mutex_unlock(&d->lock);
	spool_disk_run_io_job(d, &d->io_job);
	pthread_mutex_lock(&d->lock);
	d->in_io_job = false;
	d->io_job.state = IO_JOB_DONE;
}

/* The thread that does all work, and I/O jobs too: handing these to another thread would cost as
 * much as appending does. */
static void *run_writer(void *arg)
{
	struct spool_disk *d = arg;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		if (d->is_working) {
			pthread_cond_wait(&d->wake, &d->lock);
			continue;
		}
		work_off(d);
		if (d->io_job.state == IO_JOB_ASKED)
			run_io_job(d);
		else if (d->stopping && !d->queue)
			break;
		else
			wait_until(d, spool_disk_next_due(d));
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* The second writer does all work but I/O jobs, while one takes its time. */
static void *run_second_writer(void *arg)
{
	struct spool_disk *d = arg;

	pthread_mutex_lock(&d->lock);
	while (!d->second_stopping) {
		if (!d->in_io_job || d->is_working || !d->queue) {
			pthread_cond_wait(&d->wake_second, &d->lock);
			continue;
		}
		work_off(d);
		/* The first thread may be back and wait for the lock; then it does the rest. */
		if (!d->in_io_job)
			pthread_cond_signal(&d->wake);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* Starts a thread with all signals blocked: the caller handles them. */
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
	int rc = start_thread(&d->second, run_second_writer, d);

	if (rc)
		return err_sys(err, rc, "a thread for the spool");
	d->detached = true;
	rc = start_thread(&d->worker, run_writer, d);
	if (!rc)
		return 0;
	d->detached = false;
	pthread_mutex_lock(&d->lock);
	d->second_stopping = true;
	pthread_cond_signal(&d->wake_second);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->second, NULL);
	return err_sys(err, rc, "a thread for the spool");
}

/* Ends the threads, the first one before the other, after all chunks are written. */
static void join_threads(struct spool_disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->worker, NULL);
	pthread_mutex_lock(&d->lock);
	d->second_stopping = true;
	pthread_cond_signal(&d->wake_second);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->second, NULL);
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
	bool fits, is_busy;

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
	is_busy = d->in_io_job;
	pthread_mutex_unlock(&d->lock);
	/* The signal follows the unlock: a thread woken earlier would wait for the lock. */
	if (fits)
		pthread_cond_signal(is_busy ? &d->wake_second : &d->wake);
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

	const struct err *from;
	bool *is_new;

	pthread_mutex_lock(&d->lock);
	from = d->unreported ? &d->err : &d->notice;
	is_new = d->unreported ? &d->unreported : &d->has_notice;
	if (*is_new) {
		*is_new = false;
		rc = from->code;
		if (err)
			*err = *from;
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

void spool_disk_tally(struct spool_disk *d, const struct spool_tally *tally)
{
	pthread_mutex_lock(&d->lock);
	d->tally = *tally;
	pthread_mutex_unlock(&d->lock);
}

int spool_disk_why(struct spool_disk *d, struct err *err)
{
	int rc;

	pthread_mutex_lock(&d->lock);
	rc = d->state.is_failing ? d->err.code : 0;
	if (rc)
		*err = d->err;
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

static int take_stock(struct spool_disk *d, struct err *err)
{
	uint64_t next, last = 0;

	TRY(spool_place_open(&d->place, d->io, d->dir, err));
	spool_segments_clean(d->io, d->place.dir_fd);
	TRY(spool_retention_init(&d->retention, d->io, d->place.dir_fd, &d->limits, d->origin,
				 &last, err));
	spool_disk_account_open(d);
	/* Numbers begin at the milliseconds since 1970, so that a directory made in place of a
	 * removed one does not reuse its numbers, and with them its batch ids. */
	next = d->io->real_ns(d->io->ctx) / 1000000;
	d->first = (last < next ? next : last) + 1;
	return 0;
}

int spool_disk_open(struct spool_disk **ret, const char *dir, const struct spool_limits *limits,
		    const struct spool_origin *origin, const struct io *io, struct err *err)
{
	struct spool_disk *d = calloc(1, sizeof(*d));
	pthread_condattr_t attr;
	int rc;

	if (!d)
		return err_no_memory(err);
	*d = (struct spool_disk){
		.io = io,
		.origin = origin,
		.limits = *limits,
		.place = SPOOL_PLACE_NONE,
		.next = SPOOL_PLACE_NONE,
		.fd = -1,
		.dir = strdup(dir),
	};
	d->queue_end = &d->queue;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attr);
	pthread_cond_init(&d->wake_second, NULL);
	pthread_condattr_destroy(&attr);
	rc = d->dir ? take_stock(d, err) : err_no_memory(err);
	if (rc) {
		spool_disk_close(d);
		return rc;
	}
	*ret = d;
	return 0;
}

/* Packs the segment that just ended, so that a capturer that ends in order leaves nothing large. A
 * small one takes less than the room it held while it was written, and is left to the next
 * capturer. */
static void pack_last(struct spool_disk *d)
{
	const struct spool_retained *k = spool_retention_unpacked(&d->retention);

	if (k && k->number == d->segment && k->len >= PACKED_LAST_LEN)
		spool_disk_ask(d, IO_JOB_PACK, -1, k->number);
}

void spool_disk_end(struct spool_disk *d)
{
	const bool packs = d->detached;

	if (packs)
		join_threads(d);
	d->detached = false;
	spool_disk_end_segment(d, true);
	spool_disk_finish_next(d);
	if (packs)
		pack_last(d);
	spool_disk_account_write(d);
}

void spool_disk_close(struct spool_disk *d)
{
	if (!d)
		return;
	spool_disk_end(d);
	if (d->fd >= 0)
		d->io->close(d->io->ctx, d->fd);
	spool_place_close(&d->place, d->io);
	spool_place_close(&d->next, d->io);
	spool_retention_done(&d->retention);
	spool_retention_done(&d->next_keep);
	free(d->dir);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->wake);
	pthread_cond_destroy(&d->wake_second);
	free(d);
}
