/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RUN_LOG_H
#define RAWSTACK_RUN_LOG_H
/*
 * What a run tells in its log of things that happen again and again: at once when one happens for
 * the first time, then how often, once a minute at most. Part of the program: it prints. One
 * thread.
 */
#include "spool.h"

struct run_log_row {
	uint64_t told, told_ns; /* how many of them were told, and when; 0: none yet */
};

struct run_log {
	struct run_log_row dropped, ship_ended;
	uint64_t ship_ended_count;
};

/* So many samples that limits removed unsent since the start; `reason` is of the last of them. */
void run_log_dropped(struct run_log *l, uint64_t count, enum spool_drop_reason reason,
		     uint64_t now_ns);

/* The shipper ended by itself once more, with a status as by waitpid(2). */
void run_log_ship_ended(struct run_log *l, int status, uint64_t now_ns);

#endif
