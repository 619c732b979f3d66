/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WANTED_SEGMENTS_H
#define RAWSTACK_WANTED_SEGMENTS_H
/*
 * Modules that are stored in the spool, and whose executable segments are still to be stored. The
 * helper is asked for segments that nobody has read yet. No sample waits for that, because segments
 * may follow samples in the spool. A module for which there is no room here has its turn when it is
 * stored in the next segment of the spool. One thread uses it.
 */
#include "file_ids.h"
#include "limits.h"
#include "spool.h"

/* Modules that wait for the segments of their files. */
#define LIMIT_SEGMENTS_WANTED LIMIT(256)

struct wanted_segments {
	struct wanted_module {
		struct module *module; /* with a reference */
		uint32_t tid;
		bool is_program, is_asked;
	} list[LIMIT_SEGMENTS_WANTED];
	size_t count;
};

void wanted_segments_done(struct wanted_segments *w); /* before modules_done() */

/* Takes a module that has just been stored, as spool_module of the current segment of the spool.
 * tid is a live thread of a process that has it mapped; is_program: as the program that it runs. */
void wanted_segments_add(struct wanted_segments *w, struct file_ids *f, struct spool_writer *spool,
			 struct module *m, uint32_t tid, bool is_program, uint64_t now_ns);

/* Call it once in each poll, after file_ids_poll(). */
void wanted_segments_poll(struct wanted_segments *w, struct file_ids *f, struct spool_writer *spool,
			  uint64_t now_ns);

/* Returns whether an answer is under way. */
bool wanted_segments_are_asked(const struct wanted_segments *w);

#endif
