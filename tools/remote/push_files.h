/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_FILES_H
#define RAWSTACK_PUSH_FILES_H
/*
 * The files that one `push` is about: those that were named, those in directories that were named,
 * and those on standard input, one path a line. Looks at no content.
 */
#include "base.h"
#include "build_id.h"
#include "err.h"

/* Paths of one push: some hundred thousand are in a whole distribution's debug packages. */
#define LIMIT_PUSH_FILES UINT64_C(4000000)

struct push_file {
	char *path;
	bool found;             /* in a directory: what is no binary there is passed over */
	struct build_id loaded; /* what it must have; kind NONE: any */
};

struct push_files {
	struct push_file *list;
	size_t count, cap;
};

/* A path as it was given: a directory gives its regular files, in order of name; symbolic links
 * inside are not followed. "-" reads standard input. ERR_IO, ERR_LIMIT, ERR_MEMORY. */
int push_files_add(struct push_files *f, const char *path, struct err *err) _must_check_;

/* A file that something was loaded from that has this id, or an unknown one (kind NONE). ERR_LIMIT,
 * ERR_MEMORY. */
int push_files_add_loaded(struct push_files *f, const char *path, const struct build_id *loaded,
			  struct err *err) _must_check_;
void push_files_done(struct push_files *f);

#endif
