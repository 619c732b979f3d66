/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "timed_wait.h"
#include "uploads_priv.h"

/* An upload whose stream brings fewer bytes in a minute counts as stalled (LIMIT_UPLOAD_STALL_NS).
 */
#define LIMIT_UPLOAD_PROGRESS LIMIT(16384)
/* A build that found no room, because the store was being copied, is tried again after this time.
 */
#define LIMIT_POSTPONED_NS    LIMIT(5000000000)

enum {
	GIVEN_BACK_MAX = 6 /* later tries come every five minutes */
};

void upload_file_name(const struct upload *up, const char *suffix, char name[static NAME_LEN])
{
	for (size_t i = 0; i < UPLOAD_TOKEN_LEN; i++)
		snprintf(name + 2 * i, 3, "%02x", up->token[i]);
	snprintf(name + 2 * UPLOAD_TOKEN_LEN, NAME_LEN - 2 * UPLOAD_TOKEN_LEN, "%s", suffix);
}

void upload_free(struct upload *up)
{
	if (!up)
		return;
	closep(&up->fd);
	if (up->begin)
		rawstack__v1__begin_request__free_unpacked(up->begin, NULL);
	free(up);
}

void uploads_remove_files(struct uploads *u, const struct upload *up)
{
	char name[NAME_LEN];

	upload_file_name(up, ".begin", name);
	unlinkat(u->dir_fd, name, 0);
	upload_file_name(up, ".part", name);
	unlinkat(u->dir_fd, name, 0);
	upload_file_name(up, ".finish", name);
	unlinkat(u->dir_fd, name, 0);
}

void uploads_drop(struct uploads *u, struct upload *up)
{
	struct upload **at = &u->list;

	while (*at != up)
		at = &(*at)->next;
	*at = up->next;
	uploads_end_series(u, up);
	uploads_remove_files(u, up);
	up->lost = up->streaming;
	if (!up->lost)
		upload_free(up);
}

void uploads_touch(struct uploads *u, struct upload *up)
{
	if (up->received != up->touched_at)
		up->moved_ns = uploads_mono_ns(u);
	up->touched_at = up->received;
	up->touched_ns = uploads_mono_ns(u);
}

void uploads_add(struct uploads *u, struct upload *up)
{
	struct upload **at = &u->list;

	while (*at)
		at = &(*at)->next;
	*at = up;
}

struct upload *uploads_find_token(struct uploads *u, const void *token, size_t len)
{
	if (len != UPLOAD_TOKEN_LEN)
		return NULL;
	for (struct upload *up = u->list; up; up = up->next)
		if (!memcmp(up->token, token, len))
			return up;
	return NULL;
}

int64_t uploads_mono_ns(const struct uploads *u)
{
	return (int64_t)u->io->mono_ns(u->io->ctx);
}

/* --- bytes ----------------------------------------------------------------------------------- */

int uploads_attach(struct uploads *u, const void *token, size_t len, struct upload **ret,
		   struct err *err)
{
	struct upload *up;
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	up = uploads_find_token(u, token, len);
	if (!up)
		rc = err_set(err, ERR_NOT_FOUND, "upload_id: no such upload; begin again");
	else if (up->streaming)
		rc = err_set(err, ERR_MISMATCH, "another stream sends this upload");
	else if (up->state != UPLOAD_RECEIVING)
		rc = err_set(err, ERR_MISMATCH, "this upload is complete");
	else
		up->streaming = true;
	if (!rc) {
		uploads_touch(u, up);
		upload_begin_pace(up, uploads_mono_ns(u));
	}
	pthread_mutex_unlock(&u->lock);
	*ret = up;
	return rc;
}

void uploads_detach(struct uploads *u, struct upload *up)
{
	pthread_mutex_lock(&u->lock);
	up->streaming = false;
	if (up->lost)
		upload_free(up);
	pthread_mutex_unlock(&u->lock);
}

/* Begins to write a chunk, if that is allowed. Until its end no other client gets the upload. */
static int begin_write(struct uploads *u, struct upload *up, uint64_t offset, size_t len,
		       struct err *err)
{
	uint64_t free_bytes = u->io->free_bytes(u->io->ctx, u->dir_fd);
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	if (up->displaced)
		rc = err_set(err, ERR_UNAVAILABLE,
			     "all places for uploads are taken, and this one's went to a client "
			     "that had none: begin again a little later");
	else if (up->lost)
		rc = err_set(
			err, ERR_MISMATCH,
			"too slow: this upload was dropped, or another client has it: begin again");
	else if (offset != up->received)
		rc = err_set(err, ERR_DATA, "offset: %llu, received so far: %llu",
			     (unsigned long long)offset, (unsigned long long)up->received);
	else if (len > up->begin->size - up->received)
		rc = err_set(err, ERR_DATA, "data: more than the %llu bytes declared",
			     (unsigned long long)up->begin->size);
	if (!rc) {
		up->writing = true;
		rc = uploads_check_disk(u, up, len, free_bytes, err);
	}
	up->writing = !rc;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* Updates the digest with each chunk, so that a complete upload is verified long before its turn to
 * be built. Only the writer touches the digest. */
static void add_to_digest(struct upload *up, uint64_t offset, const void *p, size_t len)
{
	uint8_t sum[DIGEST_LEN];

	if (up->digested != offset)
		return; /* an earlier run received the bytes before these */
	digest_update(&up->digest, p, len);
	up->digested += len;
	if (up->digested < up->begin->size)
		return;
	digest_finish(&up->digest, sum);
	up->proven = !memcmp(sum, up->begin->sha256.data, DIGEST_LEN);
}

int uploads_append(struct uploads *u, struct upload *up, uint64_t offset, const void *p, size_t len,
		   uint64_t *ret_received, struct err *err)
{
	int rc;

	TRY(begin_write(u, up, offset, len, err));
	rc = io_write_all(u->io, up->fd, p, len, (off_t)offset, err);
	if (!rc)
		add_to_digest(up, offset, p, len);
	pthread_mutex_lock(&u->lock);
	up->writing = false;
	up->brought_ns = uploads_mono_ns(u);
	up->received += rc ? 0 : len;
	if (up->received - up->touched_at >= LIMIT_UPLOAD_PROGRESS ||
	    up->received == up->begin->size)
		uploads_touch(u, up);
	*ret_received = up->received;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* --- building -------------------------------------------------------------------------------- */

int upload_mark(struct uploads *u, const struct upload *up, bool begins, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	char name[NAME_LEN];

	upload_file_name(up, ".finish", name);
	fd = openat(u->dir_fd, name,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || (begins && write(fd, "+", 1) != 1))
		return err_sys(err, errno, "uploads/%s", name);
	return 0;
}

bool uploads_is_building(struct uploads *u, const struct build_id *id)
{
	bool building = false;

	pthread_mutex_lock(&u->lock);
	for (const struct upload *up = u->list; up && !building; up = up->next)
		building = up->state != UPLOAD_RECEIVING && build_id_equal(&up->id, id);
	pthread_mutex_unlock(&u->lock);
	return building;
}

/* Forgets the builds that began and did not end. The .finish file itself stays, because the table
 * is still owed. */
static void upload_clear_tries(struct uploads *u, const struct upload *up)
{
	char name[NAME_LEN];
	int fd;

	upload_file_name(up, ".finish", name);
	fd = openat(u->dir_fd, name,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

void uploads_each_given_up(struct uploads *u, void (*tell)(void *ctx, const struct upload *up),
			   void *ctx)
{
	pthread_mutex_lock(&u->lock);
	for (struct upload *up = u->list; up; up = up->next)
		if (up->given_up)
			tell(ctx, up);
	pthread_mutex_unlock(&u->lock);
}

void uploads_postpone(struct uploads *u, struct upload *up)
{
	pthread_mutex_lock(&u->lock);
	up->not_before_ns = uploads_mono_ns(u) + (int64_t)LIMIT_POSTPONED_NS;
	upload_clear_tries(u, up); /* the build ended, even if without success */
	uploads_enqueue(u, up);
	pthread_mutex_unlock(&u->lock);
}

void uploads_give_back(struct uploads *u, struct upload *up, const struct upload_result *result)
{
	struct upload_waiter *waiters;
	char name[NAME_LEN];

	pthread_mutex_lock(&u->lock);
	waiters = TAKE_PTR(up->waiters);
	if (up->promised) {
		up->not_before_ns =
			uploads_mono_ns(u) + ((int64_t)LIMIT_POSTPONED_NS << up->given_back);
		up->given_back += up->given_back < GIVEN_BACK_MAX;
		upload_clear_tries(u, up);
		uploads_enqueue(u, up);
	} else {
		up->state = UPLOAD_RECEIVING;
		upload_file_name(up, ".finish", name);
		unlinkat(u->dir_fd, name, 0);
		uploads_touch(u, up);
		pthread_cond_signal(&u->queued); /* its client may have a builder again */
	}
	pthread_mutex_unlock(&u->lock);
	uploads_tell(u, waiters, result);
}

static size_t call_waiters(struct upload_waiter *w, const struct upload_result *result)
{
	size_t count = 0;

	for (struct upload_waiter *next; w; w = next, count++) {
		next = w->next;
		w->done(w, result);
	}
	return count;
}

void uploads_tell(struct uploads *u, struct upload_waiter *waiters,
		  const struct upload_result *result)
{
	size_t called = call_waiters(waiters, result);

	pthread_mutex_lock(&u->lock);
	u->waiter_count -= called;
	pthread_mutex_unlock(&u->lock);
}

void uploads_done(struct uploads *u, struct upload *up, const struct upload_result *result)
{
	struct upload_waiter *waiters;

	uploads_tell_build(u, up, result);
	pthread_mutex_lock(&u->lock);
	waiters = TAKE_PTR(up->waiters);
	up->series.spoiled |= up->mixed && result->code == ERR_UNAVAILABLE;
	uploads_drop(u, up);
	pthread_cond_signal(&u->queued); /* its client may have a builder again */
	pthread_mutex_unlock(&u->lock);
	uploads_tell(u, waiters, result);
}

void uploads_stop(struct uploads *u)
{
	static const struct upload_result stopping = {
		.code = ERR_UNAVAILABLE,
		.message = "the service is stopping; begin again when it is back",
	};

	pthread_mutex_lock(&u->lock);
	u->stopped = true;
	pthread_cond_broadcast(&u->queued);
	pthread_cond_broadcast(&u->asked);
	call_waiters(TAKE_PTR(u->tickets), &stopping);
	call_waiters(TAKE_PTR(u->ticket_now), &stopping);
	for (struct upload *up = u->list; up; up = up->next) {
		u->waiter_count -= call_waiters(TAKE_PTR(up->waiters), &stopping);
		/* A stop by the operator interrupts the build, so it does not count as a try. */
		if (up->state == UPLOAD_RUNNING)
			upload_clear_tries(u, up);
	}
	pthread_mutex_unlock(&u->lock);
}

void uploads_close(struct uploads *u)
{
	if (!u)
		return;
	uploads_stop(u);
	uploads_tickets_close(u);
	while (u->list) {
		struct upload *up = u->list;

		u->list = up->next;
		upload_free(up);
	}
	closep(&u->dir_fd);
	pthread_cond_destroy(&u->queued);
	pthread_cond_destroy(&u->asked);
	pthread_cond_destroy(&u->ended);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

int uploads_dir(const struct uploads *u)
{
	return u->dir_fd;
}

void uploads_stat(struct uploads *u, struct uploads_stat *ret)
{
	*ret = (struct uploads_stat){0};
	pthread_mutex_lock(&u->lock);
	for (struct upload *up = u->list; up; up = up->next) {
		ret->count++;
		ret->building += up->state != UPLOAD_RECEIVING;
		ret->received += up->received;
	}
	pthread_mutex_unlock(&u->lock);
}
