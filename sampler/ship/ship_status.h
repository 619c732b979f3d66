/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_STATUS_H
#define RAWSTACK_SHIP_STATUS_H
/*
 * Publishes the shipper's state in a file of the spool (spool_status.h), which `rawstack-sampler
 * status` reads, and the state of capture, spool and shipping in an OpenMetrics file. Both are
 * written when the shipper's state changes, and otherwise every ten seconds, and are replaced as a
 * whole. The shipper goes on if they cannot be written, and logs once that the OpenMetrics file
 * cannot, and again when it can.
 */
#include "shipper.h"

struct ship_status {
	const struct io *io;
	const char *spool;   /* borrowed */
	const char *metrics; /* borrowed; NULL: no such file */
	uint64_t written_ns;
	char state[16];
	bool is_metrics_lost; /* the file could not be written, which was logged */
};

/* Publishes the state: "shipping", "idle", "waiting" or "stopped". `why` is the error that the
 * shipper waits or stopped for, or NULL. */
void ship_status_tell(struct ship_status *s, const char *state, const char *why, const char *server,
		      const struct shipper_stats *stats);

#endif
