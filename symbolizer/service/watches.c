/* SPDX-License-Identifier: Apache-2.0 */
#include "watches.h"

#include <pthread.h>

#include "intern.h"
#include "limits.h"

/* The event to send for an id. In a watch for all ids the list grows and shrinks. */
struct pending {
	struct watch_event event;
	bool waits;
};

struct watch {
	struct watches *all;
	struct watch *next;
	struct watch_reader reader;
	struct intern ids; /* the ids that are named, or have an event pending */
	struct pending *events;
	size_t events_cap;
	uint32_t *queue; /* a ring of ids that wait */
	size_t queue_cap, queue_first, queue_count;
	size_t named; /* number of named ids; 0: all ids */
	bool ended;   /* the watch has ended and does not count any more */
};

struct watches {
	pthread_mutex_t lock;
	struct watch *list;
	size_t count, id_count; /* watches that have not ended, and ids that they name */
	bool stopped;
};

struct watches *watches_new(struct err *err)
{
	struct watches *w = calloc(1, sizeof(*w));

	if (!w) {
		err_no_memory(err);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	return w;
}

void watches_free(struct watches *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void watch_free(struct watch *w)
{
	intern_done(&w->ids);
	free(w->events);
	free(w->queue);
	free(w);
}

static struct watch *watch_new(const struct build_id *ids, size_t count)
{
	size_t room = count ? count : LIMIT_WATCH_PENDING;
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->ids = (struct intern)INTERN_INIT(room, room * BUILD_ID_MAX);
	w->queue_cap = room;
	w->queue = calloc(room, sizeof(w->queue[0]));
	for (size_t i = 0; w->queue && i < count; i++)
		if (intern_add(&w->ids, ids[i].bytes, ids[i].len, NULL) == INTERN_FULL)
			break;
	w->named = w->ids.count;
	if (!w->queue || (count && !w->named) || !GROW(w->events, &w->events_cap, w->named, room)) {
		watch_free(w);
		return NULL;
	}
	for (size_t i = 0; i < w->named; i++)
		w->events[i] = (struct pending){0};
	return w;
}

/* --- with the lock held ---------------------------------------------------------------------- */

static void end_one_watch(struct watch *w, int code, const char *message)
{
	if (w->ended)
		return;
	w->reader.end(w->reader.arg, code, message);
	w->ended = true;
	w->all->count--;
	w->all->id_count -= w->named;
}

/* Returns what a watch takes: one place, or as many ids as it names. */
static size_t share_of_watch(const struct watch *w, bool of_ids)
{
	if (w->ended)
		return 0;
	return of_ids ? w->named : 1;
}

static size_t share_of_client(const struct watches *all, uint32_t client, bool of_ids)
{
	size_t sum = 0;

	for (const struct watch *w = all->list; w; w = w->next)
		sum += w->reader.client == client ? share_of_watch(w, of_ids) : 0;
	return sum;
}

/* Ends the newest watch of the client that has the most, if it has more than the client of the new
 * watch would have. Returns false if there is no such client. */
static bool take_from_most(struct watches *all, const struct watch *new, bool of_ids)
{
	size_t most =
		share_of_client(all, new->reader.client, of_ids) + share_of_watch(new, of_ids);
	struct watch *newest = NULL; /* the list begins with the newest */

	for (struct watch *w = all->list; w; w = w->next) {
		size_t share = share_of_watch(w, of_ids)
				       ? share_of_client(all, w->reader.client, of_ids)
				       : 0;

		if (share > most) {
			most = share;
			newest = w;
		}
	}
	if (newest)
		end_one_watch(
			newest, ERR_LIMIT,
			"too many watches, and this client has the most: another client has its "
			"place; watch again a little later");
	return newest != NULL;
}

static int add_watch(struct watches *all, struct watch *w, struct err *err)
{
	if (all->stopped)
		return err_set(err, ERR_UNAVAILABLE, "the service is stopping");
	while (all->count >= LIMIT_WATCHES)
		if (!take_from_most(all, w, false))
			return err_set(err, ERR_LIMIT, "more than %llu watches at a time",
				       (unsigned long long)LIMIT_WATCHES);
	while (all->id_count + w->named > LIMIT_WATCHED_IDS)
		if (!take_from_most(all, w, true))
			return err_set(err, ERR_LIMIT, "more than %llu ids are watched",
				       (unsigned long long)LIMIT_WATCHED_IDS);
	w->next = all->list;
	all->list = w;
	all->count++;
	all->id_count += w->named;
	return 0;
}

/* --- from outside ---------------------------------------------------------------------------- */

int watch_open(struct watch **ret, struct watches *all, const struct watch_reader *reader,
	       const struct build_id *ids, size_t count, struct err *err)
{
	struct watch *w = watch_new(ids, count);
	int rc;

	if (!w)
		return err_no_memory(err);
	w->all = all;
	w->reader = *reader;
	pthread_mutex_lock(&all->lock);
	rc = add_watch(all, w, err);
	pthread_mutex_unlock(&all->lock);
	if (rc)
		watch_free(w);
	else
		*ret = w;
	return rc;
}

void watch_close(struct watch *w)
{
	struct watch **at;

	if (!w)
		return;
	pthread_mutex_lock(&w->all->lock);
	for (at = &w->all->list; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	if (!w->ended) {
		w->all->count--;
		w->all->id_count -= w->named;
	}
	pthread_mutex_unlock(&w->all->lock);
	watch_free(w);
}

/* --- events, with the lock held -------------------------------------------------------------- */

static void pump_watch(struct watch *w)
{
	while (w->queue_count && !w->ended) {
		struct pending *p = &w->events[w->queue[w->queue_first]];

		if (!w->reader.send(w->reader.arg, &p->event))
			return;
		p->waits = false;
		w->queue_first = (w->queue_first + 1) % w->queue_cap;
		w->queue_count--;
	}
	/* A watch for all ids forgets them once all its events are sent. */
	if (!w->named && !w->queue_count)
		intern_reset(&w->ids);
}

/* Returns the id's place, or INTERN_FULL if the id is not watched. Ends a watch for all ids that
 * has no room. */
static uint32_t place_in_watch(struct watch *w, const struct build_id *id)
{
	uint32_t i;
	bool is_new;

	if (w->named)
		return intern_find(&w->ids, id->bytes, id->len);
	i = intern_add(&w->ids, id->bytes, id->len, &is_new);
	if (i == INTERN_FULL ||
	    !GROW(w->events, &w->events_cap, w->ids.count, LIMIT_WATCH_PENDING)) {
		end_one_watch(w, ERR_LIMIT, "the client reads too slowly");
		return INTERN_FULL;
	}
	if (is_new)
		w->events[i] = (struct pending){0};
	return i;
}

static void tell_watch(struct watch *w, const struct watch_event *event)
{
	bool is_for = !w->ended && (w->named || !event->is_alias);
	uint32_t i = is_for ? place_in_watch(w, &event->id) : INTERN_FULL;

	if (i == INTERN_FULL)
		return;
	w->events[i].event = *event;
	if (!w->events[i].waits) {
		w->queue[(w->queue_first + w->queue_count++) % w->queue_cap] = i;
		w->events[i].waits = true;
	}
	pump_watch(w);
}

/* --- events, from outside -------------------------------------------------------------------- */

void watch_tell(struct watch *w, const struct watch_event *event)
{
	pthread_mutex_lock(&w->all->lock);
	tell_watch(w, event);
	pthread_mutex_unlock(&w->all->lock);
}

void watch_pump(struct watch *w)
{
	pthread_mutex_lock(&w->all->lock);
	pump_watch(w);
	pthread_mutex_unlock(&w->all->lock);
}

void watches_tell(struct watches *all, const struct watch_event *event)
{
	pthread_mutex_lock(&all->lock);
	for (struct watch *w = all->list; w; w = w->next)
		tell_watch(w, event);
	pthread_mutex_unlock(&all->lock);
}

void watches_stop(struct watches *all)
{
	pthread_mutex_lock(&all->lock);
	all->stopped = true;
	for (struct watch *w = all->list; w; w = w->next)
		end_one_watch(w, ERR_UNAVAILABLE, "the service is stopping");
	pthread_mutex_unlock(&all->lock);
}
