/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NORMALISE_H
#define RAWSTACK_NORMALISE_H
/*
 * From addresses of a process at a time to locations that hold anywhere and for ever, and into the
 * spool. Takes events in order of time. Nothing is guessed: what is in no known mapping is stored
 * as unresolved, with the reason. One thread.
 *
 * Frames are stored leaf first, the kernel part in front. The interrupted instruction is EXACT, its
 * callers are RETURN. The user leaf below kernel frames is RETURN in a system call (the saved pc is
 * that of the instruction after it), EXACT in a fault or interrupt (the saved pc is that of the
 * instruction that will run again).
 *
 * A sample in a file that the kernel tells no build id of waits for the helper process that reads
 * the file, two seconds at most; then its frame is stored as unresolved. The helper also reads the
 * executable segments of each file that a sample is in, which no sample waits for.
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
	bool has_stack_ids;  /* the backend gives some */
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

/* Once for each poll, behind its events: what waited goes to the spool if its time has come; all of
 * it when this is the last poll. */
void normalise_poll(struct normaliser *n, uint64_t now_ns, bool is_last);

#endif
