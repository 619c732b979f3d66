/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_READ_H
#define RAWSTACK_PPROF_READ_H
/*
 * Reads anybody's pprof file, gzip or plain, into a profile. The bytes are hostile: inflating is
 * bounded (LIMIT_PPROF_*), every index is checked, unknown fields are skipped, and nothing
 * recurses. A file of pprof_write() gives back an equal profile. Lost on the way: drop_frames,
 * keep_frames, doc_url and columns. Equal rows of a table become one.
 */
#include "profile.h"

/*
 * Fills *p, which must be empty (profile_init()). Returns ERR_DATA if the file is not pprof or is
 * damaged, or ERR_LIMIT if it is too large. The message has no file name; callers put it in front.
 * After a failure *p is only good for profile_done().
 */
int pprof_read(const void *file, size_t len, struct profile *p, struct err *err) _must_check_;

/* Chooses files by time: wants() gets the Unix start and the length, 0 if the file does not say. */
struct pprof_time_filter {
	bool (*wants)(void *ctx, int64_t time_ns, int64_t duration_ns);
	void *ctx;
};

/*
 * Adds a file to a profile, with the result of profile_merge() but without a copy in between, for
 * many files with much in common. `between` may be NULL; a file that it does not want adds nothing.
 * Errors are those of pprof_read(), and ERR_MISMATCH if the two have no type of value in common.
 */
int pprof_add(const void *file, size_t len, const struct pprof_time_filter *between,
	      struct profile *p, struct err *err) _must_check_;

#endif
