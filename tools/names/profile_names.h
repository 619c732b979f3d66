/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NAMES_H
#define RAWSTACK_PROFILE_NAMES_H
/*
 * Names for what profiles have none for (perf.data, pprof of others, spools, what the shipper met
 * before it was pushed): of a service, if there is one; else, where a file of the path and the
 * build id that the profile says, or its debug file, is on this machine, its table gives
 * functions, files, lines and inlined calls. Without a build id only a file that was named for it
 * is looked into, by its path or name: any other may be another by now. The kernel is looked up
 * when it is the running one.
 */
#include "intern.h"
#include "module_set.h"
#include "name_source.h"

#define NAME_FILES_MAX      64
#define NAME_DEBUG_DIRS_MAX 8

struct name_options {
	const struct name_source *source; /* asked first; NULL: none */
	bool may_be_away;                 /* then it is a warning that it is */
	bool no_cache;
	const char *files[NAME_FILES_MAX]; /* binaries that are not where profiles say */
	size_t file_count;
	const char *debug_dirs[NAME_DEBUG_DIRS_MAX]; /* besides /usr/lib/debug */
	size_t debug_dir_count;
};

struct profile_names {
	const struct name_options *options;
	struct module_set modules;
	struct module **by_module; /* of the profile at hand; NULL: not here */
	size_t count;
	struct intern known; /* functions of modules that have a row in the profile that is made */
	uint32_t *rows;      /* of known's ids */
	size_t rows_cap;
};

/* `options` must outlive it. */
void profile_names_init(struct profile_names *n, const struct name_options *options);
void profile_names_done(struct profile_names *n);

/* Asks the source; finds the files of a profile and reads what its addresses still need. What is
 * not here is left out; ERR_MEMORY, errors of the source, and of files that were named. `count` is
 * 0 when there is nothing to name. */
int profile_names_prepare(struct profile_names *n, const struct profile *p,
			  struct err *err) _must_check_;

/* A profile_lines_fn for that profile, and always for the same `into`; ctx: the struct. */
size_t profile_names_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *lines, size_t max);

#endif
