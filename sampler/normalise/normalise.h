/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NORMALISE_H
#define RAWSTACK_NORMALISE_H
/*
 * Turns addresses of a process at a time into locations that hold anywhere and for ever, and
 * stores them in the spool. Takes events in order of time. Nothing is guessed: what is in no
 * known mapping is stored as unresolved, with the reason. One thread.
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
	uint64_t samples;   /* handed to the spool */
	uint64_t filtered;  /* samples of processes that are not to be sampled */
	uint64_t user_frames, unresolved;
	uint64_t unreadable; /* of the unresolved: those in files that could not be read */
	bool is_final;       /* the current stack would resolve the same way later */
};

/* `source` and `queue` are those of procs_init(). */
void normalise_init(struct normaliser *n, struct spool_writer *spool,
		    const struct procs_source *source, const struct events *queue);
void normalise_done(struct normaliser *n);

/* Takes the answers that came. Call it once in each poll, before its events. */
void normalise_begin(struct normaliser *n, uint64_t now_ns);

/* Takes any event; a sample goes to the spool. */
void normalise_event(struct normaliser *n, const struct event *e);

/* Tells that sampling ended: late names are still asked for, while normalise_is_waiting() says that
 * answers are due and polls go on. */
void normalise_end(struct normaliser *n);
bool normalise_is_waiting(const struct normaliser *n);

/* Ends a poll, after its events: stores the waiting samples whose time has come; all of them in the
 * last poll. */
void normalise_poll(struct normaliser *n, uint64_t now_ns, bool is_last);

#endif
