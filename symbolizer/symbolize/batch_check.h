/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BATCH_CHECK_H
#define RAWSTACK_BATCH_CHECK_H
/*
 * Checks that a batch is well-formed: columns have equal lengths, indexes are in range, and nothing
 * is over its limit. After that, code may follow every index that a location's kind has.
 */
#include "err.h"
#include "rawstack/v1/symbolizer.pb-c.h"

/*
 * Returns 0, or ERR_DATA with one line that names the field and the index. old_modules and
 * old_strings count the entries of earlier batches of a stream, to which this batch may refer; they
 * are within the limits.
 */
int batch_check(const Rawstack__V1__StackBatch *b, size_t old_modules, size_t old_strings,
		struct err *err) _must_check_;

/* Returns whether locations of this kind (enum location_kind, or VADDR) belong to a module. */
bool batch_kind_has_module(int kind);

#endif
