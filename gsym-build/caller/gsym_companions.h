/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMPANIONS_H
#define RAWSTACK_GSYM_COMPANIONS_H
/*
 * Finds the files that a debug file refers to, for builds on the command line: a package of split
 * units, loose .dwo files, the dwz alternate file. Names come from an untrusted file, and the user
 * of the command may have more rights than its author, so only a bounded number of regular files is
 * opened, for reading, and only the worker parses them. A service must not use this: its paths are
 * not those of the sender.
 */
#include "bytes.h"
#include "limits.h"
#include "table_build.h"

struct companions {
	struct table_companion list[LIMIT_COMPANIONS];
	size_t count;
	size_t left_out;      /* .dwo files beyond LIMIT_COMPANIONS */
	const char *alt_path; /* the only place for the alternate file, or NULL: by its link */
};

void companions_close(struct companions *c);

/* Adds a file that the user named. Errors as err_sys() when it cannot be opened. */
int companions_add(struct companions *c, const char *path, enum table_companion_kind kind,
		   struct err *err) _must_check_;

/* Adds PATH.dwp if it exists. */
void companions_add_package(struct companions *c, const char *path);

/* Looks for the files in `missing` of table_build(), relative to the file at `path`. Returns how
 * many were added. An alternate file with another build id is left out, and *ret_why says so. */
size_t companions_find(struct companions *c, const char *path, struct bytes missing, bool want_dwos,
		       struct err *ret_why);

#endif
