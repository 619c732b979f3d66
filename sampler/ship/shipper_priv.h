/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIPPER_PRIV_H
#define RAWSTACK_SHIPPER_PRIV_H
/* What shipper.c (batches as they come) and shipper_redeliver.c (those that lacked names) share. */
#include <pthread.h>
#include <sys/stat.h>

#include "redeliver.h"
#include "ship_lanes.h"
#include "shipper.h"

/* What delivering one batch takes. */
struct work {
	void *call_ctx;
	struct arena arena;
};

struct shipper {
	struct shipper_options o;
	char *spool;
	struct spool_reader *reader; /* NULL until the spool exists */
	dev_t spool_dev;             /* of the directory it reads */
	ino_t spool_inode;
	struct work own, works[SHIP_LANES_MAX];
	struct ship_lanes *lanes; /* NULL: one batch at a time */
	bool is_careful;          /* something failed: one at a time, until that is over */
	bool may_follow;          /* the last batch that was put has an end that stays */
	pthread_mutex_t lock;     /* of building_since_ns */
	struct shipper_stats stats;
	bool in_hurry;
	uint64_t due_ns; /* when what was looked at last is old enough; 0: nothing was */
	struct redeliver redeliver;
	struct spool_reader *second; /* of batches to be delivered again */
	uint64_t watched_ns;
	uint32_t
		watch_next; /* where asking for ids goes on: they may be more than one call takes */
	uint64_t building_since_ns; /* a wait for tables began, or failed, then; 0: none */
};

/* The batch stays at the sink as it is, for it has names that the new answers lack. */
#define SHIPPER_KEPT 1

/* Writes a batch to the sink in this thread and does not acknowledge it. `noted`: the batch that
 * the sink already has, and what it lacks; NULL: it has none. 0, SHIPPER_KEPT or negative. */
int shipper_deliver(struct shipper *s, const struct spool_batch *batch,
		    const struct redeliver_batch *noted, struct err *err);

/* Delivers one batch that is due again. Returns 1: done; 0: there is none, or it is gone. */
int shipper_redeliver(struct shipper *s, struct err *err);

#endif
