/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_QUEUE_H
#define RAWSTACK_BUILD_QUEUE_H
/*
 * Threads that turn complete uploads into stored tables, one upload at a time each: they check
 * size, digest and build id against the declared ones, and build_table() does the rest. A mismatch
 * stores nothing.
 */
#include "build_table.h"
#include "kept_files.h"
#include "store.h"
#include "uploads.h"

struct build_queue;

struct build_queue_config {
	struct store *store;
	struct uploads *uploads;
	struct kept_files *kept;
	bool keep_all, keep_failed; /* see build_table.h */
	unsigned int builders;      /* threads */
	struct build_limits limits;
	const char *worker_path; /* NULL: found beside the program */
	/* Called when a table was stored, or when the id has a failed build and no table. May be
	 * NULL. */
	void (*ended)(void *ctx, const struct build_id *id, bool failed, uint64_t generation);
	void *ctx;
	uint32_t builder_version; /* 0: that of this program; for tests */
};

int build_queue_open(struct build_queue **ret, const struct build_queue_config *config,
		     struct err *err) _must_check_;

/* Sets what holds for builds that begin from now on. */
void build_queue_configure(struct build_queue *q, const struct build_limits *limits, bool keep_all,
			   bool keep_failed);

/*
 * Rebuilds the table of an id from kept files, in the background, on a thread of its own. At the
 * start every table of an older builder is rebuilt. Does nothing when no file of the id was kept.
 */
void build_queue_rebuild(struct build_queue *q, const struct build_id *id);

/*
 * Does the same for a table that a client wants and the store evicted. Returns true if it is being
 * rebuilt, or will be soon, or false if no file of it was kept or an attempt was made a moment ago:
 * a store that is too small for its clients would do nothing but rebuild.
 */
bool build_queue_remake(struct build_queue *q, const struct build_id *id);

/*
 * Removes the table of an id and the files kept for it. Returns 1, or 0 if there was no table. A
 * build from kept files that runs meanwhile stores nothing. purge() removes the table in place of
 * store_purge() and calls nothing of the queue; if it returns 0, all stays as it is. It may be
 * NULL.
 */
int build_queue_remove(struct build_queue *q, const struct build_id *id,
		       int (*purge)(void *ctx, struct store *store, const struct build_id *id,
				    struct err *err),
		       void *ctx, struct err *err) _must_check_;

static inline _must_check_ int build_queue_delete(struct build_queue *q, const struct build_id *id,
						  struct err *err)
{
	return build_queue_remove(q, id, NULL, NULL, err);
}

/* Returns whether a rebuild of the id waits or runs. */
bool build_queue_is_rebuilding(struct build_queue *q, const struct build_id *id);

/*
 * Waits up to timeout_ms for the builders. Call it after uploads_stop(). Returns false if one still
 * runs: it uses the store, so the process has to exit without closing the store. That loses
 * nothing; the next start takes the upload up.
 */
bool build_queue_stop(struct build_queue *q, unsigned int timeout_ms) _must_check_;
void build_queue_close(struct build_queue *q); /* after a stop that returned true */

#endif
