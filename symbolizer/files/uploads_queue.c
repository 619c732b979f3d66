/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whose upload is built next. Clients take turns: each further upload of a client joins a
 * later round. In a round small files go first, and each build that begins brings the waiting ones
 * nearer, so that neither a large file nor a client with many waits for ever.
 */
#include <string.h>

#include "event.h"
#include "limits.h"
#include "timed_wait.h"
#include "uploads_priv.h"

enum {
	LOOK_AGAIN_MS = 500,
	SMALL = 64 << 10,     /* smaller files rank equal: their builds are short */
	ROUND = 20,           /* ranks; more than there are between a small file and the largest */
	BUILDS_FOR_A_RANK = 4 /* builds that begin while an upload waits */
};

/* The shared client of uploads whose clients left. */
#define LEFT UINT32_MAX

void uploads_set_builders(struct uploads *u, unsigned int count)
{
	u->builders = count;
}

void uploads_set_connected(struct uploads *u, bool (*connected)(uint32_t client))
{
	u->connected = connected;
}

/* Assigns the round after the client's last queued upload, or else the present round. */
static void find_round(const struct uploads *u, struct upload *up)
{
	up->round = u->round;
	for (const struct upload *other = u->list; other; other = other->next)
		if (other != up && other->state != UPLOAD_RECEIVING &&
		    other->client == up->client && other->round >= up->round)
			up->round = other->round + 1;
}

void uploads_enqueue(struct uploads *u, struct upload *up)
{
	find_round(u, up);
	if (!up->complete_ns) {
		up->complete_ns = uploads_mono_ns(u);
		if (up->begun_ns)
			histogram_add(&u->times.receiving,
				      (uint64_t)(up->complete_ns - up->begun_ns));
	}
	up->queued_at = u->begun;
	up->state = UPLOAD_QUEUED;
	pthread_cond_signal(&u->queued);
}

/* The uploads of all clients that left take the turns of one client, so that nobody gains turns by
 * connecting anew. */
void uploads_gather_left(struct uploads *u, bool receiving_too)
{
	for (struct upload *up = u->list; u->connected && up; up = up->next)
		if ((receiving_too || up->state != UPLOAD_RECEIVING) && up->client &&
		    up->client != LEFT && !u->connected(up->client)) {
			up->client = LEFT;
			if (up->state == UPLOAD_QUEUED)
				find_round(u, up);
		}
}

void uploads_own(struct uploads *u, const uint8_t token[static UPLOAD_TOKEN_LEN],
		 const struct upload_owner *owner)
{
	struct upload *up;

	pthread_mutex_lock(&u->lock);
	up = uploads_find_token(u, token, UPLOAD_TOKEN_LEN);
	if (up)
		up->owner = *owner;
	pthread_mutex_unlock(&u->lock);
}

/* Returns an upload's rank; the lowest is next. A file of twice the size is one rank behind. */
static int64_t rank_of(const struct uploads *u, const struct upload *up)
{
	int64_t rank = (int64_t)(up->round * ROUND);

	for (uint64_t size = up->begin->size; size > SMALL; size /= 2)
		rank++;
	return rank - (int64_t)((u->begun - up->queued_at) / BUILDS_FOR_A_RANK);
}

/* Returns whether the client, or the identity that it has shown, has as many builders as one may
 * have. */
static bool has_builders(const struct uploads *u, const struct upload *of)
{
	unsigned int running = 0, owned = 0;

	for (const struct upload *up = u->list; of->owner.key && up; up = up->next)
		owned += up->state == UPLOAD_RUNNING && up->owner.key == of->owner.key;
	if (of->owner.key && owned >= of->owner.builds)
		return true;
	if (u->builders < 2 || !of->client)
		return false;
	for (const struct upload *up = u->list; up; up = up->next)
		running += up->state == UPLOAD_RUNNING && up->client == of->client;
	return running >= u->builders - 1;
}

/* Finds the next upload that may be built now, the oldest among those of equal rank. *ret_later
 * says that others may be built later. The caller holds the lock. */
static struct upload *find_queued(struct uploads *u, bool *ret_later)
{
	int64_t now = uploads_mono_ns(u);
	struct upload *next = NULL;

	*ret_later = false;
	uploads_gather_left(u, false);
	for (struct upload *up = u->list; up; up = up->next) {
		if (up->state != UPLOAD_QUEUED)
			continue;
		if (up->not_before_ns > now)
			*ret_later = true;
		else if ((!next || rank_of(u, up) < rank_of(u, next)) && !has_builders(u, up))
			next = up;
	}
	return next;
}

struct upload *uploads_take(struct uploads *u)
{
	struct upload *up = NULL;
	bool later;

	pthread_mutex_lock(&u->lock);
	while (!u->stopped && !(up = find_queued(u, &later))) {
		const struct timespec until = timed_wait_until(LOOK_AGAIN_MS);

		if (later)
			pthread_cond_timedwait(&u->queued, &u->lock, &until);
		else
			pthread_cond_wait(&u->queued, &u->lock);
	}
	if (u->stopped)
		up = NULL;
	if (up) {
		up->state = UPLOAD_RUNNING;
		if (!up->taken_ns)
			histogram_add(&u->times.waiting,
				      (uint64_t)(uploads_mono_ns(u) - up->complete_ns));
		up->taken_ns = uploads_mono_ns(u);
		u->begun++;
		if (up->round > u->round)
			u->round = up->round;
		(void)upload_mark(u, up, true, NULL);
	}
	pthread_mutex_unlock(&u->lock);
	return up;
}

/* --- times ----------------------------------------------------------------------------------- */

const struct uploads_times *uploads_times(const struct uploads *u)
{
	return &u->times;
}

void uploads_tell_build(struct uploads *u, const struct upload *up,
			const struct upload_result *result)
{
	const uint64_t ns = (uint64_t)(uploads_mono_ns(u) - up->taken_ns);
	struct event e;

	histogram_add(result->code ? &u->times.failed : &u->times.stored, ns);
	if (!event_begin(&e, result->code ? LOG_WARN : LOG_INFO, EVENT_BUILD))
		return;
	if (up->owner.request)
		event_hex64(&e, "request", up->owner.request);
	if (*up->owner.who)
		event_text(&e, "identity", up->owner.who);
	event_text(&e, "result", result->code ? "failed" : "stored");
	event_hex(&e, "upload", up->token, UPLOAD_SHOWN_LEN);
	event_id(&e, "build_id", &up->id);
	event_number(&e, "bytes", up->begin->size);
	event_seconds(&e, "seconds", ns);
	event_seconds(&e, "waited", (uint64_t)(up->taken_ns - up->complete_ns));
	event_bytes(&e, "name", up->begin->name.data, up->begin->name.len);
	if (result->code && result->message)
		event_text(&e, "reason", result->message);
	event_end(&e);
}

/* --- for people ------------------------------------------------------------------------------ */

static void fill_shown_upload(struct uploads *u, const struct upload *up, struct upload_shown *to)
{
	const int64_t since = up->state == UPLOAD_RUNNING  ? up->taken_ns
			      : up->state == UPLOAD_QUEUED ? up->complete_ns
							   : up->begun_ns;

	*to = (struct upload_shown){.id = up->id,
				    .state = up->state,
				    .received = up->received,
				    .size = up->begin->size,
				    .age_ns = since ? (uint64_t)(uploads_mono_ns(u) - since) : 0};
	to->name_len =
		up->begin->name.len < sizeof(to->name) ? up->begin->name.len : sizeof(to->name);
	if (to->name_len)
		memcpy(to->name, up->begin->name.data, to->name_len);
}

size_t uploads_show(struct uploads *u, struct upload_shown *rows, size_t max)
{
	static const enum upload_state order[] = {UPLOAD_RUNNING, UPLOAD_QUEUED, UPLOAD_RECEIVING};
	size_t n = 0;

	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		for (const struct upload *up = u->list; up && n < max; up = up->next)
			if (up->state == order[i])
				fill_shown_upload(u, up, &rows[n++]);
	pthread_mutex_unlock(&u->lock);
	return n;
}
