/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RECORD_H
#define RAWSTACK_PERF_RECORD_H
/* Where the records of perf.data begin and end, and which of them are perf's own. */
#include "bytes.h"

#define PERF_HEADER_LEN 8 /* of a record */

/* What perf itself adds to the kernel's records (perf.data-file-format.txt). */
enum {
	RECORD_HEADER_ATTR = 64, /* the first: the kernel's are below */
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

/* Bytes behind a record that are not records. */
uint64_t perf_record_behind(uint32_t type, struct bytes body);

/* A part of the file, which must lie in it. */
bool perf_part(struct bytes file, uint64_t off, uint64_t len, struct bytes *ret);

#endif
