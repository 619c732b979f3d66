/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_IDS_H
#define RAWSTACK_FILE_IDS_H
/*
 * The capturer's side of the helper process (file_helper.h): asks for ids of modules for which the
 * kernel told none and for parts of perf maps, and writes the answers into these; asks for the
 * executable segments of files whose id is known, and remembers them. It never waits, has a bounded
 * number of requests under way, and restarts a helper that died. One thread uses it.
 */
#include <sys/types.h>

#include "err.h"
#include "jit.h"
#include "limits.h"
#include "mappings.h"
#include "segment_cache.h"

/* Most files whose segments the helper is asked for at a time: the other slots are for the ids that
 * samples wait for. */
#define LIMIT_SEGMENTS_ASKED LIMIT(32)

struct file_ids {
	int fd;    /* -1: no helper */
	pid_t pid; /* 0: none to wait for */
	uint64_t start_ns;
	/* Requests under way, each with a reference to a module or a jit. is_late: a request for a
	 * jit that late_names.h makes. */
	struct {
		struct module *module;
		struct jit *jit;
		bool is_late;
		bool of_segments; /* for segments of the module, whose id is known */
	} slots[64];
	size_t asked_count, segments_asked;
	struct segment_cache segments; /* by build id */
	bool is_refused;               /* a request could not be sent: perhaps the helper died */
};

/* Starts the helper. Call it early, while the process is small. An error leaves modules without
 * ids, and nothing else. */
int file_ids_init(struct file_ids *f, uint64_t now_ns, struct err *err);
void file_ids_done(struct file_ids *f); /* before modules_done() */

/* Asks for the id of a module that a process uses, if nobody did. Returns whether to wait for it.
 */
bool file_ids_want(struct file_ids *f, struct module *m, uint32_t pid, uint64_t now_ns);

/* Asks for the addresses that are noted down in j, if there are any and nobody did. tid is a live
 * thread of the process. */
void file_ids_ask_jit(struct file_ids *f, struct jit *j, uint32_t tid);

/* Asks for at most LIMIT_PERF_MAP_LATE_ROWS addresses when the program of j is over or had no map
 * before; late_jit_answer() takes the answer. Returns false when the caller must try again later.
 */
bool file_ids_ask_late(struct file_ids *f, struct jit *j, const uint64_t *pcs, size_t count);

/* Asks for the segments of the file of a module whose id is known, with tid and is_program as in
 * wanted_segments_add(). A later file_ids_poll() puts the answer, even a failure, into f->segments.
 * Returns false when the helper cannot be asked now. */
bool file_ids_ask_segments(struct file_ids *f, struct module *m, uint32_t tid, bool is_program);

/* Takes all answers there are. */
void file_ids_poll(struct file_ids *f, uint64_t now_ns);

#endif
