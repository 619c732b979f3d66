/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_EXPAND_H
#define RAWSTACK_PERF_EXPAND_H
/*
 * Expands the records of a recording that perf compressed (`perf record -z`). Each
 * PERF_RECORD_COMPRESSED or PERF_RECORD_COMPRESSED2 (perf.data-file-format.txt of Linux) holds the
 * next piece of one Zstandard stream (RFC 8878), and may end in the middle of a record. The result
 * is the data as it would be without -z: the recorded events, with perf's own records between them
 * in the same order.
 */
#include "buf.h"
#include "bytes.h"
#include "err.h"
#include "limits.h"

/* Bytes that one compressed byte expands to: samples of an idle machine shrink to a hundredth. */
#define LIMIT_PERF_RATIO LIMIT(1024)

/* Returns whether the data has such records. It looks at the headers up to the first sample,
 * because perf compresses either every sample or none. */
bool perf_expand_is_needed(struct bytes data);

/*
 * Appends the records to out, whose ceiling bounds them, and at most LIMIT_PERF_RATIO bytes for
 * each byte of the data, plus a small constant. It stops at the first record that is damaged or cut
 * short; *ret_lost is the number of bytes of data that it left out. Returns ERR_LIMIT or
 * ERR_MEMORY.
 */
int perf_expand(struct bytes data, struct buf *out, size_t *ret_lost, struct err *err) _must_check_;

#endif
