/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NAMES_H
#define RAWSTACK_PROFILE_NAMES_H
/*
 * Names for profiles that come without (perf.data, pprof of others): where a file of the path and
 * the build id that the profile says, or its installed debug file, is on this machine, its table
 * gives functions, files, lines and inlined calls. Without a build id nothing is looked up: the
 * file may be another by now. The kernel is looked up when it is the running one.
 */
#include "module_set.h"
#include "profile.h"

struct profile_names {
	struct module_set modules;
	struct module **by_module; /* of the profile at hand; NULL: not here */
	size_t count;
};

void profile_names_init(struct profile_names *n, bool use_cache);
void profile_names_done(struct profile_names *n);

/* Finds the files of a profile and reads what its addresses need. What is not here is left out;
 * ERR_MEMORY. */
int profile_names_prepare(struct profile_names *n, const struct profile *p,
			  struct err *err) _must_check_;

/* A profile_lines_fn for that profile; ctx: the struct. */
size_t profile_names_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *lines, size_t max);

#endif
