/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues complete uploads. A client that waits for the build is told its end. A client that does
 * not wait gets a ticket when the bytes are durable. A sync takes as long as the disk does, so one
 * thread syncs the uploads in turn, and no request handler waits.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "limits.h"
#include "timed_wait.h"
#include "uploads_priv.h"

/* Calls that wait for the end of a build at the same time; a further call is told that the build is
 * not over. */
#define LIMIT_FINISH_WAITS LIMIT(64)

/* Finds the upload of a token if all its bytes are here. The caller holds the lock. */
static int find_complete(struct uploads *u, const void *token, size_t len, struct upload **ret,
			 struct err *err)
{
	struct upload *up = uploads_find_token(u, token, len);

	if (u->stopped)
		return err_set(err, ERR_UNAVAILABLE, "the service is stopping");
	if (!up)
		return err_set(err, ERR_NOT_FOUND, "upload_id: no such upload; begin again");
	if (up->streaming || up->received < up->begin->size)
		return err_set(err, ERR_MISMATCH, "received %llu of %llu bytes",
			       (unsigned long long)up->received,
			       (unsigned long long)up->begin->size);
	*ret = up;
	return 0;
}

/* Does the same, and refuses if the client has as many tickets as it may have. */
static int find_for_ticket(struct uploads *u, const void *token, size_t len, struct upload **ret,
			   struct err *err)
{
	TRY(find_complete(u, token, len, ret, err));
	if (!uploads_may_promise(u, *ret))
		return err_set(err, ERR_UNAVAILABLE,
			       "too many uploads of this client wait for their builds: finish this "
			       "one later");
	return 0;
}

/* Opens the bytes of a complete upload, for work that takes longer than the lock may be held. */
static int open_complete(struct uploads *u, const void *token, size_t len, int *ret_fd,
			 struct err *err)
{
	struct upload *up;
	int rc;

	pthread_mutex_lock(&u->lock);
	rc = find_for_ticket(u, token, len, &up, err);
	if (!rc) {
		*ret_fd = dup(up->fd);
		if (*ret_fd < 0)
			rc = err_sys(err, errno, "uploads");
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* Takes a place for one more waiter, if there is one. */
static bool take_place(struct uploads *u)
{
	bool taken;

	pthread_mutex_lock(&u->lock);
	taken = u->waiter_count < LIMIT_FINISH_WAITS;
	u->waiter_count += taken;
	pthread_mutex_unlock(&u->lock);
	return taken;
}

static void enqueue_locked(struct uploads *u, struct upload *up, struct upload_finished *ret)
{
	if (up->state == UPLOAD_RECEIVING)
		uploads_enqueue(u, up);
	ret->id = up->id;
	ret->state = up->state;
}

/* Queues an upload whose client waits for the end of the build, for which it has a place. */
static int enqueue_awaited(struct uploads *u, const void *token, size_t len,
			   struct upload_waiter *waiter, struct upload_finished *ret,
			   struct err *err)
{
	struct upload *up;
	int rc;

	pthread_mutex_lock(&u->lock);
	rc = find_complete(u, token, len, &up, err);
	if (rc) {
		u->waiter_count--;
	} else {
		(void)upload_mark(u, up, false, NULL);
		enqueue_locked(u, up, ret);
		waiter->next = up->waiters;
		up->waiters = waiter;
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* Queues an upload whose client gets a ticket. */
static int enqueue_promised(struct uploads *u, const void *token, size_t len,
			    struct upload_finished *ret, struct err *err)
{
	struct upload *up;
	int rc;

	pthread_mutex_lock(&u->lock);
	rc = find_for_ticket(u, token, len, &up, err);
	if (!rc && upload_mark(u, up, false, err))
		rc = ERR_IO; /* the client retries */
	if (!rc) {
		enqueue_locked(u, up, ret);
		up->promised = true;
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* Queues an upload for a ticket. That promises that the bytes, and the note that a table is owed,
 * outlast a power cut. */
static int enqueue_durably(struct uploads *u, const void *token, size_t len,
			   struct upload_finished *ret, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	int rc;

	TRY(open_complete(u, token, len, &fd, err));
	rc = u->io->sync(u->io->ctx, fd);
	if (rc)
		return err_sys(err, -rc, "upload: sync");
	TRY(enqueue_promised(u, token, len, ret, err));
	rc = u->io->sync(u->io->ctx, u->dir_fd);
	return rc ? err_sys(err, -rc, "uploads: sync") : 0;
}

/* --- tickets --------------------------------------------------------------------------------- */

static void *give_tickets(void *arg)
{
	struct uploads *u = arg;

	pthread_mutex_lock(&u->lock);
	while (!u->stopped) {
		struct upload_result result = {.queued = true};
		struct upload_finished finished;
		uint8_t token[UPLOAD_TOKEN_LEN];
		struct upload_waiter *w;
		struct err err = {0};

		if (!u->tickets) {
			pthread_cond_wait(&u->asked, &u->lock);
			continue;
		}
		u->ticket_now = u->tickets;
		u->tickets = u->tickets->next;
		u->ticket_now->next = NULL;
		memcpy(token, u->ticket_now->token, sizeof(token));
		pthread_mutex_unlock(&u->lock);
		result.code = enqueue_durably(u, token, sizeof(token), &finished, &err);
		result.message = err.message;
		if (!result.code) {
			result.id = finished.id;
			result.state = finished.state;
		}
		pthread_mutex_lock(&u->lock);
		w = TAKE_PTR(u->ticket_now); /* NULL if uploads_stop() called it already */
		pthread_mutex_unlock(&u->lock);
		if (w)
			w->done(w, &result);
		pthread_mutex_lock(&u->lock);
	}
	u->gives_tickets = false;
	pthread_cond_broadcast(&u->ended);
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

int uploads_tickets_open(struct uploads *u, struct err *err)
{
	int rc = pthread_create(&u->ticket_thread, NULL, give_tickets, u);

	if (rc)
		return err_sys(err, rc, "tickets thread");
	u->has_ticket_thread = u->gives_tickets = true;
	return 0;
}

void uploads_tickets_close(struct uploads *u)
{
	if (u->has_ticket_thread)
		pthread_join(u->ticket_thread, NULL);
	u->has_ticket_thread = false;
}

bool uploads_ended(struct uploads *u, unsigned int timeout_ms)
{
	const struct timespec until = timed_wait_until(timeout_ms);
	bool ended;
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	while (u->gives_tickets && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&u->ended, &u->lock, &until);
	ended = !u->gives_tickets;
	pthread_mutex_unlock(&u->lock);
	return ended;
}

/* Queues the waiter for a ticket. Errors of the upload itself are returned at once. */
static int ask_ticket(struct uploads *u, const void *token, size_t len,
		      struct upload_waiter *waiter, struct err *err)
{
	struct upload_waiter **at = &u->tickets;
	struct upload *up;
	int rc;

	pthread_mutex_lock(&u->lock);
	rc = find_for_ticket(u, token, len, &up, err);
	if (!rc) {
		while (*at)
			at = &(*at)->next;
		*at = waiter;
		waiter->next = NULL;
		memcpy(waiter->token, token, UPLOAD_TOKEN_LEN);
		pthread_cond_signal(&u->asked);
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

int uploads_finish(struct uploads *u, const void *token, size_t len, struct upload_waiter *waiter,
		   bool until_built, struct upload_finished *ret, struct err *err)
{
	int rc;

	ret->waits = false;
	if (!waiter)
		return enqueue_durably(u, token, len, ret, err);
	if (until_built && take_place(u))
		rc = enqueue_awaited(u, token, len, waiter, ret, err);
	else
		rc = ask_ticket(u, token, len, waiter, err);
	ret->waits = rc == 0;
	return rc;
}
