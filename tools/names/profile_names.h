/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NAMES_H
#define RAWSTACK_PROFILE_NAMES_H
/*
 * Names the locations that have no name in a profile: of perf.data, of others' pprof, of spools,
 * and of binaries that were not pushed when the shipper asked. It asks the service, if there is
 * one. Otherwise the table of a file on this machine, or of its debug file, gives functions, files,
 * lines and inlined calls, if the file has the path and the build id that the profile says. Without
 * a build id it uses only a file that the user named, by its path or name, because any other may
 * have been replaced by now. It looks up kernel addresses if the kernel is the running one.
 */
#include "intern.h"
#include "module_set.h"
#include "name_source.h"

#define NAME_FILES_MAX      64
#define NAME_DEBUG_DIRS_MAX 8

struct name_options {
	const struct name_source *source; /* asked first; NULL: none */
	bool may_be_away;                 /* an absent source is a warning, not an error */
	bool no_cache;
	const char *files[NAME_FILES_MAX]; /* binaries that are not where profiles say */
	size_t file_count;
	const char *debug_dirs[NAME_DEBUG_DIRS_MAX]; /* besides /usr/lib/debug */
	size_t debug_dir_count;
};

struct profile_names {
	const struct name_options *options;
	struct module_set modules;
	struct module **by_module; /* by module of the present profile; NULL: not here */
	size_t count;
	struct intern known; /* functions of modules that have a row in the new profile */
	uint32_t *rows;      /* row by id of known */
	size_t rows_cap;
};

/* Initialises n. `options` must outlive it. */
void profile_names_init(struct profile_names *n, const struct name_options *options);
void profile_names_done(struct profile_names *n);

/* Asks the source, finds the files of a profile, and reads what its addresses still need. Files
 * that are not here are left out. Returns ERR_MEMORY, or an error of the source or of a file that
 * the user named. Sets `count` to 0 if there is nothing to name. */
int profile_names_prepare(struct profile_names *n, const struct profile *p,
			  struct err *err) _must_check_;

/* A profile_lines_fn for that profile, always with the same `into`. ctx is the struct
 * profile_names. */
size_t profile_names_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *lines, size_t max);

#endif
