/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_DATA_H
#define RAWSTACK_PERF_DATA_H
/*
 * Reads a perf.data file, as `perf record` writes it, into a profile. Addresses are normalised with
 * the mappings in the file (MMAP, MMAP2, FORK, COMM, KSYMBOL, in order of time) and get no lines,
 * so that they can be looked up by build id. It reads both layouts, of files and of pipes (`perf
 * record -o -`), compressed or not (-z, perf_expand.h). Source: linux/perf_event.h, and
 * perf.data-file-format.txt of Linux 6.1.
 *
 *	value "samples"      1 for each
 *	value "cpu"          nanoseconds, when every event is a clock; else "period"
 *	labels               thread, pid; event, when there is more than one
 *	address              file offset; in the kernel pc - _text; of callers, the call's
 *
 * Refused: another byte order, hardware traces (AUX). Lost on the way: the time and cpu of each
 * sample, registers, user stack bytes, branch stacks.
 *
 * Resident memory does not grow with the file (file_view.h), only with what is distinct in it,
 * including mappings and processes, and by 16 bytes for each record between two ends of perf's
 * rounds. A file without rounds, or whose records break them, is one round. Compressed records are
 * expanded in memory and held until the end (LIMIT_PERF_EXPANDED).
 *
 * The bytes are hostile: every length is checked, nothing recurses, and tables are bounded
 * (LIMIT_PERF_*).
 */
#include "file_view.h"
#include "limits.h"
#include "profile.h"

/* Bytes that records which perf compressed (-z) are expanded to, in memory. */
#define LIMIT_PERF_EXPANDED (4 * GIB)

/* Returns whether the bytes begin like a perf.data file, in any byte order. */
bool perf_data_is(const void *file, size_t len);

/*
 * Fills *p, which must be empty (profile_init()). Returns ERR_DATA, ERR_UNSUPPORTED or ERR_LIMIT,
 * with a message that has no file name. After a failure *p is only good for profile_done().
 */
int perf_data_read(struct file_view *file, struct profile *p, struct err *err) _must_check_;

#endif
