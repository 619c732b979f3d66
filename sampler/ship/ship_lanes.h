/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_LANES_H
#define RAWSTACK_SHIP_LANES_H
/*
 * Delivers several batches at a time, each in a thread of its own. They are taken back in the order
 * in which they were put, and so acknowledged in order, whichever is done first. One thread puts
 * and takes.
 */
#include "arena.h"
#include "spool.h"

enum {
	SHIP_LANES_MAX = 16
};

/* Delivers a batch, in the thread of lane `lane`; missing[] has a place for each of its modules. */
typedef int ship_lane_fn(void *ctx, unsigned int lane, const struct spool_batch *batch,
			 bool *missing, struct err *err);

struct ship_lanes;

/* ERR_MEMORY, ERR_IO. */
int ship_lanes_open(struct ship_lanes **ret, unsigned int count, ship_lane_fn *deliver, void *ctx,
		    struct err *err);

/* Waits for what is under way. */
void ship_lanes_close(struct ship_lanes *l);
DEFINE_FREEP(struct ship_lanes, ship_lanes_close);

/* Returns how many batches are under way, including those that are done and not yet taken. */
unsigned int ship_lanes_busy(const struct ship_lanes *l);

/* Copies the batch and begins to deliver it. Call it only when fewer than count lanes are busy.
 * ERR_MEMORY. */
int ship_lanes_put(struct ship_lanes *l, const struct spool_batch *batch, struct err *err);

struct ship_lane_done {
	struct spool_batch batch; /* the copy; valid until the next put */
	bool *missing;
	int rc;
	struct err err;
};

/* Waits for the batch that was put first; NULL when no lane is busy. */
const struct ship_lane_done *ship_lanes_take(struct ship_lanes *l);

#endif
