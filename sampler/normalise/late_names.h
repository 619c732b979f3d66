/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LATE_NAMES_H
#define RAWSTACK_LATE_NAMES_H
/*
 * Code that processes made themselves and that had no name when its samples were stored: the places
 * are remembered, and named in the spool when a perf map appears, when the program is over (a map
 * may be written at its end), and when sampling ends. Names given at once stay as they are; an
 * address that was used twice has the name it had last, of those that were not given at once.
 *
 * LIMIT_PERF_MAPS_KEPT programs at a time, of more those with the newest samples;
 * LIMIT_JIT_NAMELESS places of each, LIMIT_JIT_NAMELESS_ALL together. One thread.
 */
#include "jit.h"
#include "limits.h"
#include "spool.h"

/* Places without a name that are remembered of one process, and of all. */
#define LIMIT_JIT_NAMELESS     LIMIT(4096)
#define LIMIT_JIT_NAMELESS_ALL LIMIT(131072)

struct file_ids;

struct late_names {
	struct jit *all[LIMIT_PERF_MAPS_KEPT]; /* a reference each: the last one of a program that
						  is over */
	size_t count;
	size_t pc_count;    /* of all */
	size_t asked_count; /* requests under way */
	bool is_ending;
};

void late_names_done(struct late_names *l);

/* Notes that a stored sample has a frame without a name. pc: of the call, for a return address. */
void late_names_add(struct late_names *l, struct jit *j, uint64_t pc, uint64_t time_ns);

/* Tells that sampling ended: every program is asked for one last time. */
void late_names_end(struct late_names *l);

/* Whether answers are still due. */
bool late_names_is_waiting(const struct late_names *l);

/* Asks, and writes the answers. Call it once in each poll. */
void late_names_poll(struct late_names *l, struct file_ids *ids, struct spool_writer *spool,
		     uint64_t now_ns);

#endif
