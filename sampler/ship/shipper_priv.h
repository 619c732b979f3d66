/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIPPER_PRIV_H
#define RAWSTACK_SHIPPER_PRIV_H
/* State shared by shipper.c, which ships batches as they come, and shipper_redeliver.c, which
 * delivers batches that lacked names again. */
#include <pthread.h>
#include <sys/stat.h>

#include "redeliver.h"
#include "ship_lanes.h"
#include "shipper.h"

/* The working state of a thread that delivers a batch. */
struct work {
	void *call_ctx;     /* borrowed; the first argument of shipper_options.call() */
	struct arena arena; /* requests of the batch */
};

struct shipper {
	struct shipper_options o;
	char *spool;
	struct spool_reader *reader; /* NULL until the spool exists */
	dev_t spool_dev;             /* device and inode of the directory that it reads */
	ino_t spool_inode;
	struct work own, works[SHIP_LANES_MAX]; /* of the thread that steps, and of each lane */
	struct ship_lanes *lanes;               /* NULL: one batch at a time */
	bool is_careful;      /* after a failure: one batch at a time until one was delivered */
	bool may_follow;      /* the last batch cannot grow, so the next may be taken */
	pthread_mutex_t lock; /* guards building_since_ns */
	struct shipper_stats stats;
	bool in_hurry;
	uint64_t due_ns; /* when the batch that waits is old enough; 0: none waits */
	struct redeliver redeliver;
	struct spool_reader *second; /* reads batches that are delivered again */
	uint64_t watched_ns;         /* when ids were last asked for; 0: never */
	uint32_t watch_next; /* first id of the next watch, as one call may not take all ids */
	uint64_t building_since_ns; /* when a wait for tables began or failed; 0: there is none */
};

/* shipper_deliver() returns this if the batch at the sink has names that the new answers lack, so
 * that it stays as it is. */
#define SHIPPER_KEPT 1

/* Writes a batch to the sink in this thread, without acknowledging it. `noted` describes the batch
 * that is at the sink already and the ids that it lacks; NULL: there is none. Returns 0,
 * SHIPPER_KEPT or an error. */
int shipper_deliver(struct shipper *s, const struct spool_batch *batch,
		    const struct redeliver_batch *noted, struct err *err);

/* Delivers one batch that is due again. Returns 1 if that is done, 0 if there is none, if it is
 * gone or if it stays as it is, or an error. */
int shipper_redeliver(struct shipper *s, struct err *err);

#endif
