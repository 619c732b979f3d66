/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NORMALISE_H
#define RAWSTACK_NORMALISE_H
/*
 * Turns addresses, which are valid in one process at one time, into locations that are valid
 * anywhere and for ever, and stores them in the spool. It takes events in order of time. It does
 * not guess: an address in no known mapping is stored as unresolved, with the reason. A normaliser
 * is for one thread.
 */
#include "cgroups.h"
#include "file_ids.h"
#include "kernel_map.h"
#include "late_names.h"
#include "pending_samples.h"
#include "procs.h"
#include "sample_cache.h"
#include "services.h"
#include "spool.h"
#include "targets.h"
#include "wanted_segments.h"

struct normaliser {
	struct procs procs;
	struct kernel_map kernel;
	struct spool_writer *spool; /* borrowed */
	struct cgroups cgroups;     /* empty until cgroups_init() */
	struct services services;   /* without rules until services_init() */
	struct targets targets;     /* every process until targets_init() */
	const char *labels;         /* "key=value,...", borrowed; NULL: none */
	struct file_ids ids;        /* closed until file_ids_init() */
	struct wanted_segments wanted;
	struct pending_samples pending;
	struct late_names late;
	struct sample_cache cache;
	uint16_t depth_max; /* a stack this deep was cut: kernel.perf_event_max_stack */
	uint64_t samples;   /* samples handed to the spool */
	uint64_t filtered;  /* samples of processes that are not to be sampled */
	uint64_t user_frames, unresolved;
	uint64_t unreadable; /* unresolved frames in files that could not be read */
	bool is_final;       /* the current stack would resolve the same way later */
};

/* Initialises a normaliser. `source` and `queue` are passed to procs_init(). */
void normalise_init(struct normaliser *n, struct spool_writer *spool,
		    const struct procs_source *source, const struct events *queue);
void normalise_done(struct normaliser *n);

/* Takes the helper's answers. Call it once in each poll, before its events. */
void normalise_begin(struct normaliser *n, uint64_t now_ns);

/* Takes an event of any kind; samples go to the spool. */
void normalise_event(struct normaliser *n, const struct event *e);

/* Notes that sampling ended. Late names are still asked for, as long as polls go on;
 * normalise_is_waiting() returns whether answers are due. */
void normalise_end(struct normaliser *n);
bool normalise_is_waiting(const struct normaliser *n);

/* Ends a poll, after its events: stores waiting samples that are complete or have waited long
 * enough, and all of them in the last poll. */
void normalise_poll(struct normaliser *n, uint64_t now_ns, bool is_last);

#endif
