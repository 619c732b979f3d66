/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIPPER_PRIV_H
#define RAWSTACK_SHIPPER_PRIV_H
/* State shared by shipper.c, which ships batches as they come, and shipper_redeliver.c, which ships
 * those again that lacked names. */
#include <pthread.h>
#include <sys/stat.h>

#include "redeliver.h"
#include "ship_lanes.h"
#include "shipper.h"

/* The resources for delivering one batch. */
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
	bool is_careful;          /* after a failure: one batch at a time until one was delivered */
	bool may_follow;          /* the end of the last batch cannot move any more */
	pthread_mutex_t lock;     /* of building_since_ns */
	struct shipper_stats stats;
	bool in_hurry;
	uint64_t due_ns; /* when the youngest batch is old enough; 0: there was none */
	struct redeliver redeliver;
	struct spool_reader *second; /* reads batches that are delivered again */
	uint64_t watched_ns;
	uint32_t watch_next; /* the id that the next call asks for first: one call may not take all
			      */
	uint64_t building_since_ns; /* when a wait for tables began or failed; 0: there is none */
};

/* The batch at the sink has names that the new answers lack, so it stays as it is. */
#define SHIPPER_KEPT 1

/* Writes a batch to the sink in this thread and does not acknowledge it. `noted` is the
 * batch that the sink already has, and what it lacks; NULL: the sink has none. Returns 0,
 * SHIPPER_KEPT or an error. */
int shipper_deliver(struct shipper *s, const struct spool_batch *batch,
		    const struct redeliver_batch *noted, struct err *err);

/* Delivers one batch that is due again. Returns 1: done; 0: there is none, or it is gone. */
int shipper_redeliver(struct shipper *s, struct err *err);

#endif
