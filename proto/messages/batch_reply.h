/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BATCH_REPLY_H
#define RAWSTACK_BATCH_REPLY_H
/*
 * What a client must know of a Symbolize reply before it follows an index in it: columns of equal
 * length, every index in range, no location with more frames than a table may hold. A reply is a
 * stranger's bytes, whoever sent it.
 */
#include "err.h"
#include "rawstack/v1/symbolizer.pb-c.h"

/* For a reply to `location_count` locations. ERR_INTERNAL: it is the service's fault, none of it is
 * to be taken. */
int batch_reply_check(const Rawstack__V1__SymbolizedBatch *r, size_t location_count,
		      struct err *err) _must_check_;

/* Returns whether the frames of a location name it: one with an empty name (a line in no function)
 * does not. For a checked reply. */
bool batch_reply_names(const Rawstack__V1__SymbolizedBatch *r, size_t first_frame, uint32_t count);

#endif
