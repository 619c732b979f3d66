/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WATCHES_H
#define RAWSTACK_WATCHES_H
/*
 * Who waits for tables: each watch names ids, or none for all, and is told when one becomes ready
 * or its build fails. What a slow reader has not been told yet is held once per id, so that memory
 * is bounded by the ids. Knows no connection. Safe from any thread.
 */
#include "build_id.h"
#include "err.h"

struct watches;
struct watch;

struct watch_event {
	struct build_id id;
	bool failed; /* else ready */
	uint64_t generation;
	bool is_alias; /* an alias of the id: for those who named it, not for who watches all */
};

struct watch_ops {
	/* Takes an event, or returns false: not now; watch_pump() is called when there is room. */
	bool (*send)(void *arg, const struct watch_event *event);
	/* It cannot go on, or nothing more will come. Called once at most. */
	void (*end)(void *arg, int code, const char *message);
};

/* Calls of both come under a lock: they must not block, nor call back. */

struct watches *watches_new(struct err *err) _must_check_;
void watches_free(struct watches *w); /* all watches were closed */

/*
 * client: a number for who watches; places are shared between them. count 0: all ids. When there
 * are too many watches, or ids of all together, the newest watch ends (ERR_LIMIT) of the client
 * that has the most of them, if that is more than this one would have; else ERR_LIMIT.
 * ERR_UNAVAILABLE after watches_stop().
 */
int watch_open(struct watch **ret, struct watches *all, uint32_t client, const struct build_id *ids,
	       size_t count, const struct watch_ops *ops, void *arg, struct err *err) _must_check_;
void watch_close(struct watch *w); /* NULL: nothing */

/* Tells one watch, as watches_tell() would. */
void watch_tell(struct watch *w, const struct watch_event *event);
void watch_pump(struct watch *w);

void watches_tell(struct watches *all, const struct watch_event *event);
void watches_stop(struct watches *all); /* ends all */

#endif
