/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_STATUS_H
#define RAWSTACK_SHIP_STATUS_H
/*
 * What the shipper tells about itself: the file `shipper.json` in the spool, one JSON object, read
 * by `rawstack-sampler status`. Written when the state changes, else once in ten seconds, replaced
 * as a whole. A spool that takes no file is none of its business.
 */
#include "io.h"
#include "shipper.h"

#define SHIP_STATUS_NAME "shipper.json"

struct ship_status {
	const struct io *io;
	const char *spool; /* borrowed */
	uint64_t written_ns;
	char state[16];
};

/* state: "shipping", "idle", "waiting" or "stopped"; why: for waiting. */
void ship_status_tell(struct ship_status *s, const char *state, const char *why, const char *server,
		      const struct shipper_stats *stats);

#endif
