/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_INPUT_H
#define RAWSTACK_PROFILE_INPUT_H
/*
 * Reads the input of commands: profiles, directories of profiles (a shipper's --out) and spools
 * of samplers, filtered and merged to one profile. Files of a directory are those named *.pb.gz,
 * *.pb and *.pprof, in order of their names; a name that begins with a dot is an unfinished file. A
 * path may be - or a pipe (piped_input.h).
 */
#include "profile_filter.h"

/*
 * Fills *ret, which must be empty (profile_init()), from `count` paths. Returns ERR_NOT_FOUND if a
 * directory has no profile. A damaged file that is given by name is an error with its name. A
 * damaged file among good ones of a directory is left out (filter->left_out), and the caller
 * reports it. A warning says how many files --since and --until left out because they have no time.
 */
int profile_input_read(char *const *paths, size_t count, struct profile_filter *filter,
		       struct profile *ret, struct err *err) _must_check_;

/* Finds the row of value_types to show: the one named `type`, else the file's default, else the
 * last. Returns ERR_NOT_FOUND with a list of the names. */
int profile_input_value(const struct profile *p, const char *type, uint32_t *ret, struct err *err);

#endif
