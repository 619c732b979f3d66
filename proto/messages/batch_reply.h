/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BATCH_REPLY_H
#define RAWSTACK_BATCH_REPLY_H
/*
 * Checks a reply of Symbolize before a client follows an index in it: columns have equal lengths,
 * every index is in range, and no location has more frames than a table may hold. A reply is a
 * stranger's bytes, whoever sent it.
 */
#include "err.h"
#include "rawstack/v1/symbolizer.pb-c.h"

/* Checks a reply to `location_count` locations. Returns 0, or ERR_INTERNAL: the service is at
 * fault, and the client uses no part of the reply. */
int batch_reply_check(const Rawstack__V1__SymbolizedBatch *r, size_t location_count,
		      struct err *err) _must_check_;

/* Returns whether the frames of a location give it a name. A frame with an empty name, of a line in
 * no function, does not. The reply has passed the check. */
bool batch_reply_names(const Rawstack__V1__SymbolizedBatch *r, size_t first_frame, uint32_t count);

#endif
