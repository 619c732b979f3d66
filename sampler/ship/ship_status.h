/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_STATUS_H
#define RAWSTACK_SHIP_STATUS_H
/*
 * What the shipper tells about itself: a file in the spool (spool_status.h), read by
 * `rawstack-sampler status`, and the state of all as an OpenMetrics file, for whoever collects
 * these. Both are written when the state changes, and else every ten seconds, and replaced as a
 * whole. Failing to write is no reason to stop.
 */
#include "shipper.h"

struct ship_status {
	const struct io *io;
	const char *spool;   /* borrowed */
	const char *metrics; /* borrowed; NULL: no such file */
	uint64_t written_ns;
	char state[16];
};

/* Tells the state: "shipping", "idle", "waiting" or "stopped". `why` is the reason for waiting, or
 * NULL. */
void ship_status_tell(struct ship_status *s, const char *state, const char *why, const char *server,
		      const struct shipper_stats *stats);

#endif
