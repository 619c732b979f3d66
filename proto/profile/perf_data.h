/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_DATA_H
#define RAWSTACK_PERF_DATA_H
/*
 * A perf.data file, as `perf record` writes it, as a profile: addresses are normalised with the
 * mappings in the file (MMAP, MMAP2, FORK, COMM, KSYMBOL, in order of time), and stay without
 * lines, so that they can be looked up by build id. Both layouts are read, of files and of pipes
 * (`perf record -o -`), and compressed or not (-z, perf_expand.h). Source: linux/perf_event.h, and
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
 * What is resident does not grow with the file (file_view.h), only with what is distinct in it,
 * mappings and processes too, and with what was recorded between two ends of perf's rounds: of
 * that, 16 bytes for each record. A file without rounds, or whose records do not keep to them, is
 * one round. What perf compressed is expanded in memory, and held meanwhile (LIMIT_PERF_EXPANDED).
 *
 * The bytes are hostile: every length is checked, nothing recurses, tables are bounded
 * (LIMIT_PERF_*).
 */
#include "file_view.h"
#include "profile.h"

/* Returns whether the bytes begin as such a file does, in any byte order. */
bool perf_data_is(const void *file, size_t len);

/*
 * Fills *p, which must be empty (profile_init()). ERR_DATA, ERR_UNSUPPORTED, ERR_LIMIT with a
 * message without file name. On failure *p is good for profile_done() only.
 */
int perf_data_read_view(struct file_view *file, struct profile *p, struct err *err) _must_check_;
int perf_data_read(const void *file, size_t len, struct profile *p, struct err *err) _must_check_;

#endif
