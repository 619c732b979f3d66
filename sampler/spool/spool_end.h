/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_END_H
#define RAWSTACK_SPOOL_END_H
/*
 * Tells how the walk of a stored stack ended, as the capturer saw it. A chain of frame pointers
 * ends with a zero at the outermost function, and also behind code without frame pointers, so only
 * names can tell whether a stack is whole (proto/profile/stack_end.h).
 */
#include "spool.h"

enum spool_end {
	SPOOL_END_UNVERIFIED, /* the chain ended with a zero */
	SPOOL_END_DEPTH_LIMIT,
	SPOOL_END_IMPLAUSIBLE,
	SPOOL_END_READ_FAULT,
	SPOOL_END_EXEC,
	SPOOL_END_NO_USER_PART,
	SPOOL_END_COUNT
};

enum spool_end spool_end_of(const struct spool_stack *stack);
const char *spool_end_name(enum spool_end end); /* "unverified", ... */

/* Counts the samples of a whole spool, by weight. Errors are those of spool_reader_open(). */
int spool_end_count(uint64_t ret[static SPOOL_END_COUNT], const char *dir, struct err *err);

#endif
