/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RUN_LOG_H
#define RAWSTACK_RUN_LOG_H
/*
 * Logs events that may repeat during a run: the first one at once, and then how many there were, at
 * most once a minute. A log is for one thread.
 */
#include "spool.h"

struct run_log_row {
	uint64_t told, told_ns; /* the last count that was logged, and when; 0: none yet */
};

struct run_log {
	struct run_log_row dropped, ship_ended;
	uint64_t ship_ended_count;
};

/* Logs how many samples limits removed before they were shipped. `count` is their number since the
 * start; `reason` is that of the last removal. */
void run_log_dropped(struct run_log *l, uint64_t count, enum spool_drop_reason reason,
		     uint64_t now_ns);

/* Logs that the shipper ended by itself once more, with a status as of waitpid(2). */
void run_log_ship_ended(struct run_log *l, int status, uint64_t now_ns);

#endif
