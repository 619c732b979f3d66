/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The room that uploads reserve: places, and the disk. Received bytes are on the disk. Bytes to
 * come count in full against further uploads of the same client; against other clients only as far
 * as the upload gets at its pace, so that nobody reserves the disk by a claim alone.
 */
#include "limits.h"
#include "uploads_priv.h"

/* An upload that nobody continued for a day is dropped. */
#define LIMIT_UPLOAD_IDLE_NS  LIMIT(86400000000000)
/* A stream that brings less than LIMIT_UPLOAD_PROGRESS in a minute holds its upload against nobody.
 */
#define LIMIT_UPLOAD_STALL_NS LIMIT(60000000000)
/* The bytes to come of an upload count against other clients as far as they come in ten minutes at
 * the pace of its last ten to twenty seconds, plus a window. So an upload that trickles reserves no
 * disk. */
#define LIMIT_UPLOAD_AHEAD_NS LIMIT(600000000000)
#define LIMIT_UPLOAD_PACE_NS  LIMIT(10000000000)
#define LIMIT_UPLOAD_WINDOW   MIB

#define NS_PER_MS UINT64_C(1000000)

/* --- places ---------------------------------------------------------------------------------- */

static int64_t silence_ns(const struct upload *up, int64_t now)
{
	return now - up->touched_ns;
}

bool upload_is_held(const struct upload *up, int64_t now)
{
	return up->writing ||
	       (up->streaming && silence_ns(up, now) < (int64_t)LIMIT_UPLOAD_STALL_NS);
}

void uploads_drop_stale(struct uploads *u, int64_t now)
{
	struct upload *next;

	for (struct upload *up = u->list; up; up = next) {
		next = up->next;
		if (up->state == UPLOAD_RECEIVING && !upload_is_held(up, now) &&
		    silence_ns(up, now) > (int64_t)LIMIT_UPLOAD_IDLE_NS)
			uploads_drop(u, up);
	}
}

static size_t count_of_client(const struct uploads *u, uint32_t client)
{
	size_t count = 0;

	for (const struct upload *up = u->list; up; up = up->next)
		count += up->client == client;
	return count;
}

/* Drops the longest idle upload of the client that has the most, if that client has more than the
 * asker would have. Returns false if there is none. */
static bool drop_of_others(struct uploads *u, uint32_t asker, int64_t now)
{
	size_t most = count_of_client(u, asker) + 1;
	struct upload *oldest = NULL;

	for (struct upload *up = u->list; up; up = up->next) {
		size_t count;

		if (up->state != UPLOAD_RECEIVING || up->client == asker ||
		    upload_is_held(up, now) || now - up->moved_ns <= (int64_t)LIMIT_UPLOAD_EMPTY_NS)
			continue;
		count = count_of_client(u, up->client);
		if (count > most || (oldest && count == most && up->moved_ns < oldest->moved_ns)) {
			most = count;
			oldest = up;
		}
	}
	if (oldest)
		uploads_drop(u, oldest);
	return oldest != NULL;
}

/* Drops the abandoned upload that has been silent the longest, if that is too long. Returns false
 * if there is none. */
static bool drop_spare(struct uploads *u, int64_t now)
{
	struct upload *oldest = NULL;

	for (struct upload *up = u->list; up; up = up->next) {
		uint64_t patience = up->received ? LIMIT_UPLOAD_SPARE_NS : LIMIT_UPLOAD_EMPTY_NS;

		if (up->state == UPLOAD_RECEIVING && !upload_is_held(up, now) &&
		    silence_ns(up, now) > (int64_t)patience &&
		    (!oldest || up->touched_ns < oldest->touched_ns))
			oldest = up;
	}
	if (oldest)
		uploads_drop(u, oldest);
	return oldest != NULL;
}

/* Makes room for a client without uploads: drops the newest upload of the client that has the most,
 * and at least two. Uploads that are being built or have a ticket stay. */
static bool displace_upload(struct uploads *u, uint32_t asker)
{
	struct upload *newest = NULL;
	size_t most = 2;

	uploads_gather_left(u, true);
	if (count_of_client(u, asker))
		return false;
	for (struct upload *up = u->list; up; up = up->next) {
		size_t count;

		if (up->state == UPLOAD_RUNNING || up->promised || up->writing)
			continue;
		count = count_of_client(u, up->client);
		if (count >= most) {
			most = count;
			newest = up;
		}
	}
	if (!newest)
		return false;
	for (struct upload_waiter *w; (w = newest->waiters);) {
		newest->waiters = w->next;
		w->next = u->displaced;
		u->displaced = w;
	}
	newest->displaced = true;
	uploads_drop(u, newest);
	return true;
}

bool uploads_may_promise(const struct uploads *u, const struct upload *up)
{
	size_t all = 0, own = 0;

	if (up->promised || up->state == UPLOAD_RUNNING)
		return true;
	for (const struct upload *other = u->list; other; other = other->next) {
		all += other->promised;
		own += other->promised && other->client == up->client;
	}
	return all + own < LIMIT_UPLOAD_TICKETS;
}

/* --- pace ------------------------------------------------------------------------------------ */

void upload_begin_pace(struct upload *up, int64_t now)
{
	up->marks[0] = up->marks[1] = (struct upload_mark){now, up->received};
}

/* Returns the bytes that an upload would bring in LIMIT_UPLOAD_AHEAD_NS at the pace of its last ten
 * to twenty seconds. */
static uint64_t bytes_ahead(struct upload *up, int64_t now)
{
	uint64_t ms;

	if (now - up->marks[1].at_ns >= (int64_t)LIMIT_UPLOAD_PACE_NS) {
		up->marks[0] = up->marks[1];
		up->marks[1] = (struct upload_mark){now, up->received};
	}
	ms = (uint64_t)(now - up->marks[0].at_ns) / NS_PER_MS;
	ms = ms < 1000 ? 1000 : ms;
	return (up->received - up->marks[0].received) * (LIMIT_UPLOAD_AHEAD_NS / NS_PER_MS) / ms;
}

static uint64_t bytes_to_come(const struct upload *up)
{
	return up->begin->size - up->received;
}

/* Returns how many of the bytes to come others have to leave room for. */
static uint64_t bytes_promised(struct upload *up, int64_t now)
{
	uint64_t promised = LIMIT_UPLOAD_WINDOW + bytes_ahead(up, now);

	return promised < bytes_to_come(up) ? promised : bytes_to_come(up);
}

/* --- the disk -------------------------------------------------------------------------------- */

static bool uploads_are_full(const struct uploads *u)
{
	size_t count = 0;

	for (const struct upload *up = u->list; up; up = up->next)
		count++;
	return count >= LIMIT_UPLOADS;
}

/* Returns whether there is a place for one more upload, and the disk would keep its floor if every
 * upload brought what it is promised. If not, it says what is lacking, and whether other uploads
 * hold it. */
static bool is_room(struct uploads *u, uint64_t size, uint32_t client, int64_t now,
		    const char **ret_reason, bool *ret_passing)
{
	uint64_t owed = size + LIMIT_DISK_FLOOR, alone = owed;
	uint64_t free_bytes = u->io->free_bytes(u->io->ctx, u->dir_fd);

	for (struct upload *up = u->list; up; up = up->next)
		owed += up->client == client ? bytes_to_come(up) : bytes_promised(up, now);
	*ret_passing = free_bytes >= alone;
	if (client && count_of_client(u, client) >= LIMIT_CLIENT_UPLOADS) {
		*ret_reason = "too many uploads of one client at a time";
		return false;
	}
	*ret_reason =
		uploads_are_full(u) ? "too many uploads at a time" : "not enough free disk space";
	return !uploads_are_full(u) && free_bytes >= owed;
}

bool uploads_make_room(struct uploads *u, uint64_t size, uint32_t client, int64_t now,
		       const char **ret_reason, bool *ret_passing)
{
	while (!is_room(u, size, client, now, ret_reason, ret_passing))
		if (!drop_of_others(u, client, now) && !drop_spare(u, now) &&
		    !(uploads_are_full(u) && displace_upload(u, client)))
			return false;
	return true;
}

/* Returns how many bytes have to be free for len more bytes. An upload that is promised all its
 * bytes needs only these; a slower one also leaves the others their promises. */
static uint64_t bytes_needed(struct uploads *u, struct upload *writer, size_t len, int64_t now)
{
	uint64_t needed = LIMIT_DISK_FLOOR + len;

	if (bytes_promised(writer, now) == bytes_to_come(writer))
		return needed;
	for (struct upload *up = u->list; up; up = up->next)
		needed += up == writer ? 0 : bytes_promised(up, now);
	return needed;
}

int uploads_check_disk(struct uploads *u, struct upload *writer, size_t len, uint64_t free_bytes,
		       struct err *err)
{
	int64_t now = uploads_mono_ns(u);
	uint64_t others = 0;

	while (free_bytes < bytes_needed(u, writer, len, now)) {
		if (drop_spare(u, now)) {
			free_bytes = u->io->free_bytes(u->io->ctx, u->dir_fd);
			continue;
		}
		for (struct upload *up = u->list; up; up = up->next)
			others += up == writer ? 0 : up->received;
		if (free_bytes + others < LIMIT_DISK_FLOOR + bytes_to_come(writer))
			return err_set(err, ERR_LIMIT,
				       "No space: uploads have to leave the rest of the disk free");
		return err_set(err, ERR_UNAVAILABLE,
			       "No space for now: other uploads fill the disk; what was received "
			       "of this one stays, begin again");
	}
	return 0;
}
