/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_FILES_H
#define RAWSTACK_PUSH_FILES_H
/*
 * Lists the files of one `push`: those that were named, those in directories that were named, and
 * those on standard input, one path a line. It opens none of them.
 */
#include "base.h"
#include "build_id.h"
#include "err.h"

/* The most paths of one push. All debug packages of a distribution have some hundred thousand. */
#define LIMIT_PUSH_FILES UINT64_C(4000000)

struct push_file {
	char *path;
	bool found; /* found in a directory, where other files than binaries are skipped */
	struct build_id loaded; /* the build id that it must have; kind NONE: any */
};

struct push_files {
	struct push_file *list;
	size_t count, cap;
};

/* Adds a path of the command line. A directory gives its regular files in order of name; symbolic
 * links inside are not followed. "-" reads standard input. Returns ERR_IO, ERR_LIMIT or ERR_MEMORY.
 */
int push_files_add(struct push_files *f, const char *path, struct err *err) _must_check_;

/* Adds a file from which a module was loaded that has this id, or an unknown one (kind NONE).
 * Returns ERR_LIMIT or ERR_MEMORY. */
int push_files_add_loaded(struct push_files *f, const char *path, const struct build_id *loaded,
			  struct err *err) _must_check_;
void push_files_done(struct push_files *f);

#endif
