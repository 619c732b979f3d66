/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_INPUT_H
#define RAWSTACK_PROFILE_INPUT_H
/*
 * What commands read: profiles, directories of them (a shipper's --out) and spools of samplers,
 * filtered and merged to one profile. Files of a directory are those named *.pb.gz, *.pb and
 * *.pprof, in the order of their names; what begins with a dot is somebody's work in progress.
 * A path may be - or a pipe (piped_input.h).
 */
#include "profile_filter.h"

/*
 * Fills *ret, which must be empty (profile_init()), from `count` paths. ERR_NOT_FOUND when a
 * directory has no profile. A damaged file that is given ends it, with its name in the message; one
 * that stands in a directory with good ones is left out (filter->left_out), and the caller tells
 * it. What --since and --until leave out because it says no time is a warning with their number.
 */
int profile_input_read(char *const *paths, size_t count, struct profile_filter *filter,
		       struct profile *ret, struct err *err) _must_check_;

/* The row of value_types to show: the one named `type`, else the file's default, else the last.
 * ERR_NOT_FOUND names those there are. */
int profile_input_value(const struct profile *p, const char *type, uint32_t *ret, struct err *err);

#endif
