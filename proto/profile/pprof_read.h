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

/* The same for a file by name, with the name in the message; ERR_IO when it cannot be read. */
int pprof_read_file(const char *path, struct profile *p, struct err *err) _must_check_;

#endif
