/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_INPUT_H
#define RAWSTACK_SPOOL_INPUT_H
/* The directory of a sampler's spool, read as a profile without names: everything that it holds,
 * delivered or not. Nothing is locked or changed, so it may be one that is written to. */
#include "profile_filter.h"

/* Returns whether a file of this name is a segment of a spool. */
bool spool_input_is_segment(const char *name);

/* Adds what the filter lets through. ERR_DENIED, ERR_IO, ERR_LIMIT, ... with the directory in the
 * message. */
int spool_input_read(const char *dir, struct profile_filter *filter, struct profile *ret,
		     struct err *err) _must_check_;

#endif
