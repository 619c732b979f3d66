/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILES_H
#define RAWSTACK_PROFILE_FILES_H
/*
 * Adds the profiles of files to one, in the order given, with as many threads as there are
 * processors, at most PROFILE_FILES_THREADS. Each thread reads a run of files into a profile of its
 * own, and these are joined in order. So the result is the same, row by row, for any number of
 * threads. Memory is bounded by the distinct data times the threads.
 */
#include "profile_filter.h"

#define PROFILE_FILES_THREADS 4

/* Adds the files. Returns the error of profile_file_add() for the first file that fails. */
int profile_files_add(char *const *paths, size_t count, struct profile_filter *filter,
		      struct profile *ret, struct err *err) _must_check_;

/*
 * Adds the files of one directory, to which many may have written. A file that cannot be read,
 * counts something else than most, or asks for far more frames than it has bytes is left out and
 * noted in filter->left_out. The files are read by several threads; only if one fails are all read
 * again, one by one. *ret must be empty. Returns the error of the first file if none is good.
 */
int profile_files_add_good(char *const *paths, size_t count, struct profile_filter *filter,
			   struct profile *ret, struct err *err) _must_check_;

#endif
