/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_EXPAND_H
#define RAWSTACK_PERF_EXPAND_H
/*
 * The records of a recording that perf compressed (`perf record -z`): PERF_RECORD_COMPRESSED and
 * PERF_RECORD_COMPRESSED2 (perf.data-file-format.txt of Linux) each hold the next piece of one
 * Zstandard stream (RFC 8878), which may end in the middle of a record. This makes the data as it
 * would be without -z: what was recorded, and perf's own records between. Their order stays.
 */
#include "buf.h"
#include "bytes.h"
#include "err.h"

/* Returns whether the data has such records. A look at heads up to the first sample: where perf
 * compresses, it compresses every sample. */
bool perf_expand_is_needed(struct bytes data);

/*
 * Appends the records to out, whose ceiling bounds them, and at most LIMIT_PERF_RATIO bytes for
 * each of the data (and a little, of which any recording is made). What follows the first record
 * that is damaged or cut short is left out, and *ret_lost says how many bytes of data that are; 0:
 * nothing. ERR_LIMIT, ERR_MEMORY.
 */
int perf_expand(struct bytes data, struct buf *out, size_t *ret_lost, struct err *err) _must_check_;

#endif
