/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_INPUT_H
#define RAWSTACK_SPOOL_INPUT_H
/* Reads the directory of a sampler's spool as a profile without names: everything in it, delivered
 * or not. It locks and changes nothing, so the sampler may write to it meanwhile. */
#include "profile_filter.h"

/* Returns whether a file of this name is a segment of a spool. */
bool spool_input_is_segment(const char *name);

/* Adds the samples that the filter keeps. Returns ERR_DENIED, ERR_IO, ERR_LIMIT, ... with the
 * directory in the message. */
int spool_input_read(const char *dir, struct profile_filter *filter, struct profile *ret,
		     struct err *err) _must_check_;

#endif
