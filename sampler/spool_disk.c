/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "spool_keep.h"
#include "spool_squeeze.h"

#define LOCK_NAME "lock"

enum {
	CLOSING_MAX = 8
};

/* What may take long: a second thread does it, so that appending goes on meanwhile. */
enum chore_kind {
	CHORE_SYNC,
	CHORE_FINISH, /* sync and close */
	CHORE_PACK,
};

enum chore_state {
	CHORE_NONE,
	CHORE_ASKED,
	CHORE_DONE,
};

struct chore {
	enum chore_state state; /* under the lock; the rest belongs to who the state says */
	enum chore_kind kind;
	int fd, rc;
	uint64_t segment, len;
};

struct spool_disk {
	const struct io *io;
	const struct spool_origin *origin;
	struct spool_limits limits;
	int dir_fd, lock_fd;
	uint64_t first;

	/* Of whoever does the work: the caller, or the first thread. */
	int fd; /* the segment that is appended to; -1: none */
	uint64_t segment, end;
	struct spool_origin current; /* of that segment */
	uint64_t synced_ns, limits_ns;
	bool failing, dirty;
	struct spool_keep keep;
	struct {
		int fd;
		uint64_t segment;
	} closing[CLOSING_MAX]; /* ended, not yet synced and closed */
	size_t closing_count;

	bool detached, has_lock;
	pthread_t worker, helper;
	pthread_mutex_t lock;
	pthread_cond_t wake, wake_helper; /* of the two threads */
	/* Under the lock. */
	struct spool_chunk *queue, **queue_end;
	uint64_t queue_len;
	struct spool_disk_state state;
	struct err err;
	bool unreported, stopping, helper_stopping;
	struct chore chore;
};

static uint64_t now_ns(const struct spool_disk *d)
{
	return d->io->mono_ns(d->io->ctx);
}

/* --- state ----------------------------------------------------------------------------------- */

static void tell(struct spool_disk *d, const struct err *why)
{
	pthread_mutex_lock(&d->lock);
	if (!d->failing) {
		d->err = *why;
		d->unreported = true;
	}
	pthread_mutex_unlock(&d->lock);
	d->failing = true;
}

static void count_lost(struct spool_disk *d, uint64_t samples)
{
	pthread_mutex_lock(&d->lock);
	d->state.lost += samples;
	pthread_mutex_unlock(&d->lock);
}

static void give_up(struct spool_disk *d, uint64_t segment)
{
	pthread_mutex_lock(&d->lock);
	if (segment > d->state.given_up)
		d->state.given_up = segment;
	pthread_mutex_unlock(&d->lock);
}

static void apply_limits(struct spool_disk *d, uint64_t more, bool *ret_floor)
{
	bool floor = spool_keep_apply(&d->keep, d->fd >= 0 ? d->limits.segment_len : 0, more);

	d->limits_ns = now_ns(d);
	pthread_mutex_lock(&d->lock);
	d->state.dropped = d->keep.dropped;
	pthread_mutex_unlock(&d->lock);
	if (ret_floor)
		*ret_floor = floor;
}

/* --- chores ---------------------------------------------------------------------------------- */

static void run_chore(struct spool_disk *d, struct chore *c)
{
	const struct io *io = d->io;

	switch (c->kind) {
	case CHORE_SYNC:
		c->rc = io->sync(io->ctx, c->fd);
		break;
	case CHORE_FINISH:
		c->rc = io->sync(io->ctx, c->fd);
		io->close(io->ctx, c->fd);
		break;
	case CHORE_PACK:
		c->rc = spool_squeeze(io, d->dir_fd, c->segment, &c->len, NULL);
		break;
	}
}

/* After a failed sync nobody knows what of the file is on the disk, and asking again would only
 * hide it: a new file it is. */
static void end_segment(struct spool_disk *d, bool is_whole);

static void take_sync(struct spool_disk *d, const struct chore *c)
{
	struct err err;

	if (!c->rc)
		return;
	err_sys(&err, -c->rc, "sync of spool segment %016llx", (unsigned long long)c->segment);
	tell(d, &err);
	if (c->kind == CHORE_SYNC && d->fd >= 0 && c->segment == d->segment) {
		give_up(d, d->segment);
		end_segment(d, false);
	}
}

static void take_packed(struct spool_disk *d, const struct chore *c)
{
	struct spool_kept *k = spool_keep_find(&d->keep, c->segment);
	char temp[SPOOL_SQUEEZED_NAME_MAX], name[SPOOL_NAME_MAX];

	if (k)
		k->is_final = true;
	if (c->rc != 1)
		return;
	spool_squeezed_name(c->segment, temp);
	/* Limits may have dropped it meanwhile: then it must not come back. The directory is not
	 * synced: after a power cut either of the two is there, and both are whole. */
	if (k &&
	    d->io->rename(d->io->ctx, d->dir_fd, temp, spool_segment_name(c->segment, name)) == 0)
		k->len = c->len;
	else
		d->io->unlink(d->io->ctx, d->dir_fd, temp);
}

static void take_chore(struct spool_disk *d, const struct chore *c)
{
	if (c->kind == CHORE_PACK)
		take_packed(d, c);
	else
		take_sync(d, c);
}

/* Whether it was taken on: there is one helper. */
static bool ask(struct spool_disk *d, enum chore_kind kind, int fd, uint64_t segment)
{
	struct chore c = {CHORE_ASKED, kind, fd, 0, segment, 0};
	bool taken;

	if (!d->detached) {
		run_chore(d, &c);
		take_chore(d, &c);
		return true;
	}
	pthread_mutex_lock(&d->lock);
	taken = d->chore.state == CHORE_NONE;
	if (taken)
		d->chore = c;
	pthread_mutex_unlock(&d->lock);
	if (taken)
		pthread_cond_signal(&d->wake_helper);
	return taken;
}

static void finish_next(struct spool_disk *d)
{
	while (d->closing_count && ask(d, CHORE_FINISH, d->closing[0].fd, d->closing[0].segment))
		memmove(d->closing, d->closing + 1, --d->closing_count * sizeof(*d->closing));
}

static void pack_next(struct spool_disk *d)
{
	const struct spool_kept *k = d->detached ? spool_keep_unpacked(&d->keep) : NULL;

	/* While one is packed it is there twice: that is no reason to go below the floor. */
	if (k && !d->closing_count &&
	    d->io->free_bytes(d->io->ctx, d->dir_fd) >= d->limits.free_floor + k->len)
		ask(d, CHORE_PACK, -1, k->number);
}

/* --- segments -------------------------------------------------------------------------------- */

/* Nothing is appended to the current segment any more. What is left of its room is given back if
 * everything was written. */
static void end_segment(struct spool_disk *d, bool is_whole)
{
	uint64_t len = d->limits.segment_len;

	if (d->fd < 0)
		return;
	if (is_whole && d->io->truncate(d->io->ctx, d->fd, (off_t)d->end) == 0)
		len = d->end;
	if (!is_whole || d->closing_count == CLOSING_MAX) {
		if (is_whole)
			d->io->sync(d->io->ctx, d->fd);
		d->io->close(d->io->ctx, d->fd);
	} else {
		d->closing[d->closing_count].fd = d->fd;
		d->closing[d->closing_count++].segment = d->segment;
	}
	d->fd = -1;
	spool_keep_add(&d->keep, d->segment, len, &d->current);
	finish_next(d);
}

static int fill_segment(struct spool_disk *d, int fd, struct err *err)
{
	const struct spool_segment_info info = {
		.segment = d->segment,
		.segment_len = d->limits.segment_len,
		.sync_ns = d->limits.sync_ns,
		.origin = d->current,
	};
	uint8_t header[SPOOL_HEADER_MAX];
	int rc;

	/* All of the room is taken now, so that a full disk is met here and not in the middle. */
	rc = d->io->allocate(d->io->ctx, fd, (off_t)d->limits.segment_len);
	if (rc)
		return err_sys(err, -rc, "room for a spool segment");
	d->end = spool_header_encode(&info, header);
	rc = io_write_all(d->io, fd, header, d->end, 0, err);
	if (rc)
		return rc;
	rc = d->io->sync(d->io->ctx, fd);
	return rc ? err_sys(err, -rc, "sync of a spool segment") : 0;
}

static int create_segment(struct spool_disk *d, struct err *err)
{
	char name[SPOOL_NAME_MAX], temp[SPOOL_NAME_MAX + 8];
	bool floor;
	int fd, rc;

	apply_limits(d, d->limits.segment_len, &floor);
	if (!floor)
		return err_set(err, ERR_LIMIT,
			       "spool: the file system would have less than %llu MiB free",
			       (unsigned long long)(d->limits.free_floor / MIB));
	spool_segment_name(d->segment, name);
	snprintf(temp, sizeof(temp), ".%s.tmp", name);
	fd = d->io->open(d->io->ctx, d->dir_fd, temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return err_sys(err, -fd, "spool segment");
	rc = fill_segment(d, fd, err);
	if (!rc) {
		rc = d->io->rename(d->io->ctx, d->dir_fd, temp, name);
		if (rc)
			rc = err_sys(err, -rc, "rename of a spool segment");
	}
	if (rc) {
		d->io->close(d->io->ctx, fd);
		d->io->unlink(d->io->ctx, d->dir_fd, temp);
		return rc;
	}
	rc = d->io->sync(d->io->ctx, d->dir_fd);
	if (rc) {
		d->io->close(d->io->ctx, fd);
		d->io->unlink(d->io->ctx, d->dir_fd, name);
		return err_sys(err, -rc, "sync of the spool directory");
	}
	d->fd = fd;
	d->synced_ns = now_ns(d);
	d->dirty = false;
	return 0;
}

static void begin_segment(struct spool_disk *d, const struct spool_chunk *c)
{
	struct err err;

	end_segment(d, true);
	d->segment = c->segment;
	d->current = *d->origin;
	d->current.mono_ns = c->mono_ns;
	d->current.real_ns = c->real_ns;
	if (create_segment(d, &err)) {
		tell(d, &err);
		give_up(d, d->segment);
	} else {
		d->failing = false;
	}
}

/* A part of a chunk may get there on an error, and then later records cannot follow: the segment
 * ends here. */
static void append(struct spool_disk *d, const struct spool_chunk *c)
{
	struct err err;

	if (c->begins)
		begin_segment(d, c);
	if (d->fd < 0 || c->segment != d->segment) {
		count_lost(d, c->samples);
		return;
	}
	if (c->len && io_write_all(d->io, d->fd, c->bytes, c->len, (off_t)d->end, &err)) {
		err_prefix(&err, "spool segment %016llx", (unsigned long long)d->segment);
		tell(d, &err);
		count_lost(d, c->samples);
		give_up(d, d->segment);
		end_segment(d, false);
		return;
	}
	d->end += c->len;
	d->dirty |= c->len > 0;
	if (c->ends)
		end_segment(d, true);
}

/* --- by time --------------------------------------------------------------------------------- */

/* For the thread, which is awake for a chunk, a little early saves waking up for it. */
static bool is_due(const struct spool_disk *d, uint64_t last_ns)
{
	const uint64_t early_ns = d->detached ? d->limits.sync_ns / 8 : 0;

	return now_ns(d) - last_ns >= d->limits.sync_ns - early_ns;
}

static void do_due(struct spool_disk *d)
{
	finish_next(d);
	if (d->fd >= 0 && is_due(d, d->synced_ns) &&
	    (!d->dirty || ask(d, CHORE_SYNC, d->fd, d->segment))) {
		d->synced_ns = now_ns(d);
		d->dirty = false;
	}
	if (is_due(d, d->limits_ns))
		apply_limits(d, 0, NULL);
	pack_next(d);
}

static uint64_t next_due(const struct spool_disk *d)
{
	uint64_t due = d->limits_ns + d->limits.sync_ns;

	if (d->fd >= 0 && d->dirty && d->synced_ns + d->limits.sync_ns < due)
		due = d->synced_ns + d->limits.sync_ns;
	return due;
}

/* --- threads --------------------------------------------------------------------------------- */

/* With the lock held. A chore that is done is taken first: it may end a segment. */
static bool take_done(struct spool_disk *d)
{
	struct chore c = d->chore;

	if (c.state != CHORE_DONE)
		return false;
	d->chore.state = CHORE_NONE;
	pthread_mutex_unlock(&d->lock);
	take_chore(d, &c);
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
	uint64_t now = now_ns(d);
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
			append(d, c);
		free(c);
		do_due(d);
		pthread_mutex_lock(&d->lock);
		if (!d->queue && !d->stopping && d->chore.state != CHORE_DONE)
			wait_until(d, next_due(d));
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
		run_chore(d, &d->chore);
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
		append(d, chunk);
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
		do_due(d);
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
		ask(d, CHORE_PACK, -1, k->number);
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
	end_segment(d, true);
	finish_next(d);
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
