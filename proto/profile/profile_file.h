/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILE_H
#define RAWSTACK_PROFILE_FILE_H
/*
 * A profile by file name, in any format that is read here; its first bytes say which.
 *
 *	perf.data     (perf_data.h)
 *	perf script   (perf_script.h)
 *	folded        (folded.h)
 *	pprof         (pprof_read.h)  everything else
 */
#include "pprof_read.h"

/* Fills *p, which must be empty (profile_init()). Errors of the format's reader, with the path in
 * front; ERR_IO when it cannot be read. On failure *p is good for profile_done() only. */
int profile_file_read(const char *path, struct profile *p, struct err *err) _must_check_;

/* Adds a file to a profile, as profile_merge() would, unless it is of another time; see
 * pprof_add(). */
int profile_file_add(const char *path, const struct pprof_time_filter *between,
		     struct profile *into, struct err *err) _must_check_;

#endif
