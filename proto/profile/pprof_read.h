/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_READ_H
#define RAWSTACK_PPROF_READ_H
/*
 * A pprof file, anybody's, as a profile: gzip or plain. The bytes are hostile: inflating is bounded
 * (LIMIT_PPROF_*), every index is checked, unknown fields are skipped, nothing recurses. Reading
 * what pprof_write() wrote gives an equal profile. Lost on the way: drop_frames, keep_frames,
 * doc_url and columns; equal rows of a table become one.
 */
#include "profile.h"

/*
 * Fills *p, which must be empty (profile_init()). ERR_DATA: not pprof, or damaged; ERR_LIMIT: too
 * large. The message has no file name: callers put it in front. On failure *p holds anything and
 * is good for profile_done() only.
 */
int pprof_read(const void *file, size_t len, struct profile *p, struct err *err) _must_check_;

/* Whether a file of this time is wanted: unix start and length, 0 where it does not say. */
struct pprof_time_filter {
	bool (*wants)(void *ctx, int64_t time_ns, int64_t duration_ns);
	void *ctx;
};

/*
 * Adds a file to a profile, as profile_merge() of the two, without a copy in between: for many
 * files with much in common. `between` may be NULL; a file that it does not want adds nothing.
 * Errors as pprof_read(), and ERR_MISMATCH when they count different things.
 */
int pprof_add(const void *file, size_t len, const struct pprof_time_filter *between,
	      struct profile *p, struct err *err) _must_check_;

#endif
