/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILE_H
#define RAWSTACK_PROFILE_FILE_H
/*
 * Reads a profile by file name, in any supported format; its first bytes tell which.
 *
 *	perf.data     (perf_data.h)
 *	perf script   (perf_script.h)
 *	folded        (folded.h)
 *	pprof         (pprof_read.h)  everything else
 */
#include "pprof_read.h"

/* Fills *p, which must be empty (profile_init()). Returns an error of the format's reader, with the
 * path in front, or ERR_IO if the file cannot be read. After a failure *p is only good for
 * profile_done(). */
int profile_file_read(const char *path, struct profile *p, struct err *err) _must_check_;

/* Adds a file to a profile as profile_merge() does, unless `between` does not want its time; see
 * pprof_add(). */
int profile_file_add(const char *path, const struct pprof_time_filter *between,
		     struct profile *into, struct err *err) _must_check_;

#endif
