/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_LANES_H
#define RAWSTACK_SHIP_LANES_H
/*
 * Delivers several batches at a time, each in a thread of its own. Whichever is done first, the
 * caller takes them back in the order in which it put them, and so acknowledges them in order. One
 * thread puts and takes.
 */
#include "arena.h"
#include "spool.h"

enum {
	SHIP_LANES_MAX = 16
};

/* Delivers a batch in the thread of lane `lane` and sets missing[], which has a place for each of
 * its modules. Returns 0 or an error. */
typedef int ship_lane_fn(void *ctx, unsigned int lane, const struct spool_batch *batch,
			 bool *missing, struct err *err);

struct ship_lanes;

/* Starts `count` lanes, but at most SHIP_LANES_MAX. Returns 0, ERR_MEMORY or ERR_IO. */
int ship_lanes_open(struct ship_lanes **ret, unsigned int count, ship_lane_fn *deliver, void *ctx,
		    struct err *err);

/* Waits for the batches that are under way. */
void ship_lanes_close(struct ship_lanes *l);
DEFINE_FREEP(struct ship_lanes, ship_lanes_close);

/* Returns how many batches are under way, including those that are done and not yet taken. */
unsigned int ship_lanes_busy(const struct ship_lanes *l);

/* Copies the batch and begins to deliver it. Call it only when fewer than count lanes are busy.
 * Returns 0 or ERR_MEMORY. */
int ship_lanes_put(struct ship_lanes *l, const struct spool_batch *batch, struct err *err);

struct ship_lane_done {
	struct spool_batch batch; /* the copy; valid until the next put */
	bool *missing;
	int rc;
	struct err err;
};

/* Waits for the batch that was put first, and returns it, or NULL if no lane is busy. */
const struct ship_lane_done *ship_lanes_take(struct ship_lanes *l);

#endif
