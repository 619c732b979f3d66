/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RETENTION_H
#define RAWSTACK_RETENTION_H
/*
 * Removes the tables that the rules of retain_rules.h name, with the files kept for them, as a
 * Delete does. Pinned tables stay and do not count. The records stay and say which rule it was.
 *
 * It walks through the records of the store, some at each step, and goes on at the next step where
 * it stopped; a walk through all of them is a round. No step costs more than RETENTION_RECORDS
 * records and RETENTION_REMOVALS commits, and memory does not grow with the store:
 *
 *   - age, unused: judged record by record.
 *   - count: a round counts, and remembers the tables that were used longest ago, so many as
 *     RETENTION_OLDEST. They go at its end; if that is not enough, the next round follows at once.
 *   - releases: a round collects the newest versions of each name (release_names.h), and the next
 *     one removes the others.
 *
 * retention_set() and retention_stat() are safe from any thread, retention_step() is for one.
 */
#include "build_queue.h"
#include "retain_rules.h"

enum {
	RETENTION_RECORDS = 1000, /* some milliseconds */
	RETENTION_REMOVALS = 32,  /* each writes and syncs some pages */
	RETENTION_OLDEST = 1024,  /* 100 KiB for each rule with a count */
};

struct retention;

/* Begins without rules. The store and the queue outlive it. */
struct retention *retention_new(struct store *store, struct build_queue *queue,
				struct err *err) _must_check_;
void retention_free(struct retention *r);

/* Takes other rules; a round begins anew. */
void retention_set(struct retention *r, const struct retain_rules *rules);

/* Does a step. A round that is done is followed by the next one after pause_ns, or at once if rules
 * are new or a round was not enough. */
void retention_step(struct retention *r, uint64_t pause_ns);

struct retention_stat {
	uint64_t removed[RETAIN_BOUNDS]; /* tables, by the bound of the rule, since the start */
	uint64_t rounds;                 /* rounds that are done */
};

void retention_stat(struct retention *r, struct retention_stat *ret);

#endif
