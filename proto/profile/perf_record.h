/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RECORD_H
#define RAWSTACK_PERF_RECORD_H
/* Finds where records of perf.data begin and end, and names those that perf itself writes. */
#include "bytes.h"

#define PERF_HEADER_LEN 8 /* bytes of the header of a record */

/* The records that perf itself adds to the kernel's (perf.data-file-format.txt). */
enum {
	RECORD_HEADER_ATTR = 64, /* perf's first; the kernel's are below */
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

/* Returns the number of bytes behind a record that are not records. */
uint64_t perf_record_behind(uint32_t type, struct bytes body);

/* Takes a part of the file. Returns false if it does not lie in the file. */
bool perf_part(struct bytes file, uint64_t off, uint64_t len, struct bytes *ret);

#endif
