/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BATCH_CHECK_H
#define RAWSTACK_BATCH_CHECK_H
/*
 * Whether a batch is well-formed: equal columns, indexes in range, nothing over its limit. After
 * that, every index a kind has may be used without a look.
 */
#include "err.h"
#include "rawstack/v1/symbolizer.pb-c.h"

/*
 * 0, or ERR_DATA with one line that names the field and the index. old_...: entries of earlier
 * batches of a stream, to which this one may refer; within the limits.
 */
int batch_check(const Rawstack__V1__StackBatch *b, size_t old_modules, size_t old_strings,
		struct err *err) _must_check_;

/* Whether locations of this kind (enum location_kind, or VADDR) belong to a module. */
bool batch_kind_has_module(int kind);

#endif
