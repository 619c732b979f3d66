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

#endif
