/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RUN_LOG_H
#define RAWSTACK_RUN_LOG_H
/*
 * Logs what may happen again and again during a run: the first time at once, and then how often,
 * once a minute at most. It is part of the program, so it prints. One thread.
 */
#include "spool.h"

struct run_log_row {
	uint64_t told, told_ns; /* the last count in the log, and when; 0: none yet */
};

struct run_log {
	struct run_log_row dropped, ship_ended;
	uint64_t ship_ended_count;
};

/* Tells how many samples limits removed unsent since the start; `reason` is that of the last. */
void run_log_dropped(struct run_log *l, uint64_t count, enum spool_drop_reason reason,
		     uint64_t now_ns);

/* Tells that the shipper ended by itself once more, with a status as by waitpid(2). */
void run_log_ship_ended(struct run_log *l, int status, uint64_t now_ns);

#endif
