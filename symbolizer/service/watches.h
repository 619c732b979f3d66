/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WATCHES_H
#define RAWSTACK_WATCHES_H
/*
 * Tells clients when tables become ready. A watch names ids, or none for all, and gets an event
 * when a table of one becomes ready or its build fails. For a slow reader it keeps the newest event
 * per id, so the number of ids bounds the memory. It knows no connection. Safe from any thread.
 */
#include "build_id.h"
#include "err.h"
#include "limits.h"

/* The watches at one time (a quarter of all calls), the ids that all watches name together, and the
 * ids whose event waits for one slow reader. The first two are shared equally among clients. */
#define LIMIT_WATCHES       LIMIT(128)
#define LIMIT_WATCHED_IDS   LIMIT(262144)
#define LIMIT_WATCH_PENDING LIMIT(8192)

struct watches;
struct watch;

struct watch_event {
	struct build_id id;
	bool failed; /* false: the table is ready */
	uint64_t generation;
	bool is_alias; /* `id` is an alias: for watches that name it, not for those of all ids */
};

/* The client of a watch, and the functions that take its events. */
struct watch_reader {
	uint32_t client; /* a number for the caller; places are shared between clients */
	void *arg;       /* for the functions, which are called with a lock held: they must neither
			  * block nor call this module */
	/* Takes an event, or returns false if there is no room now; watch_pump() is called when
	 * there is. */
	bool (*send)(void *arg, const struct watch_event *event);
	/* Ends the watch, because of an error or because no more events come. Called at most once.
	 */
	void (*end)(void *arg, int code, const char *message);
};

struct watches *watches_new(struct err *err) _must_check_;
void watches_free(struct watches *w); /* every watch must have been closed */

/*
 * Opens a watch; the reader is copied. count 0 watches all ids. When there are too many watches or
 * watched ids, the newest watch of the client that has most of them ends with ERR_LIMIT, if that
 * client has more than this one would have; else this call returns ERR_LIMIT. Returns
 * ERR_UNAVAILABLE after watches_stop().
 */
int watch_open(struct watch **ret, struct watches *all, const struct watch_reader *reader,
	       const struct build_id *ids, size_t count, struct err *err) _must_check_;
void watch_close(struct watch *w); /* NULL is allowed */

/* Sends an event to one watch, as watches_tell() does to all. */
void watch_tell(struct watch *w, const struct watch_event *event);
void watch_pump(struct watch *w);

void watches_tell(struct watches *all, const struct watch_event *event);
void watches_stop(struct watches *all); /* ends all watches */

#endif
