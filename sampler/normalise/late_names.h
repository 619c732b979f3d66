/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LATE_NAMES_H
#define RAWSTACK_LATE_NAMES_H
/*
 * Names code that processes made themselves and that had no name when its samples were stored. The
 * places are remembered, and named in the spool when a perf map appears, when the program is over
 * (a map may be written at its end), and when sampling ends. Frames that got a name at once keep
 * it; of the others, an address that was used twice gets the name that it had last.
 *
 * At most LIMIT_PERF_MAPS_KEPT programs are remembered at a time, those with the newest samples,
 * with at most LIMIT_JIT_NAMELESS places each and LIMIT_JIT_NAMELESS_ALL together. A list is for
 * one thread.
 */
#include "jit.h"
#include "limits.h"
#include "spool.h"

/* Most places without a name that are remembered for one process, and for all. */
#define LIMIT_JIT_NAMELESS     LIMIT(4096)
#define LIMIT_JIT_NAMELESS_ALL LIMIT(131072)

struct file_ids;

struct late_names {
	struct jit *all[LIMIT_PERF_MAPS_KEPT]; /* references, the last ones if a program is over */
	size_t count;
	size_t pc_count;    /* places of all programs */
	size_t asked_count; /* number of requests under way */
	bool is_ending;
};

void late_names_done(struct late_names *l);

/* Notes that a stored sample has a frame without a name; pc lies in the call, not behind it. */
void late_names_add(struct late_names *l, struct jit *j, uint64_t pc, uint64_t time_ns);

/* Notes that sampling ended: the names of every program are asked for one last time. */
void late_names_end(struct late_names *l);

/* Returns whether answers are still due. */
bool late_names_is_waiting(const struct late_names *l);

/* Asks for names, and writes the answers to the spool. Call it once in each poll. */
void late_names_poll(struct late_names *l, struct file_ids *ids, struct spool_writer *spool,
		     uint64_t now_ns);

#endif
