/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILES_H
#define RAWSTACK_PROFILE_FILES_H
/*
 * Profiles of files added to one, in the order they are given, by as many threads as there are
 * processors, PROFILE_FILES_THREADS at most. Each reads a part of them in a row, and the parts are
 * joined in order: the profile is the same, row by row, whatever the number of threads. Each
 * thread's part is a profile of its own until then: memory is bounded by what is distinct, times
 * the threads.
 */
#include "profile_filter.h"

#define PROFILE_FILES_THREADS 4

/* Errors as profile_file_add(): of the first file that has one. */
int profile_files_add(char *const *paths, size_t count, struct profile_filter *filter,
		      struct profile *ret, struct err *err) _must_check_;

/*
 * The same for files that stand in one directory, which many may have written: what cannot be read,
 * counts another thing than most, or asks for far more frames than it has bytes is left out, and
 * noted in filter->left_out. The files are read side by side all the same; only where one fails,
 * all are read again, one by one. *ret must be empty. The error of the first file when none is
 * good.
 */
int profile_files_add_good(char *const *paths, size_t count, struct profile_filter *filter,
			   struct profile *ret, struct err *err) _must_check_;

#endif
