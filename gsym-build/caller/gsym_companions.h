/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMPANIONS_H
#define RAWSTACK_GSYM_COMPANIONS_H
/*
 * Finds the files that a debug file refers to, for builds on the command line: a package of split
 * units, loose .dwo files, the dwz alternate file. The names come from an untrusted file, whose
 * author may have fewer rights than the user of the command, so only a bounded number of regular
 * files is opened, for reading, and only the worker parses them. A service must not use this,
 * because the sender's paths mean nothing on its machine.
 */
#include "bytes.h"
#include "limits.h"
#include "table_build.h"

struct companions {
	struct table_companion list[LIMIT_COMPANIONS];
	size_t count;
	size_t left_out;      /* .dwo files beyond LIMIT_COMPANIONS */
	const char *alt_path; /* path of the alternate file, or NULL to search by its link */
};

void companions_close(struct companions *c);

/* Adds a file that the user named. Returns errors as err_sys() if it cannot be opened. */
int companions_add(struct companions *c, const char *path, enum table_companion_kind kind,
		   struct err *err) _must_check_;

/* Adds PATH.dwp if it exists. */
void companions_add_package(struct companions *c, const char *path);

/* Looks for the files in `missing` of table_build(), relative to the file at `path`. Returns how
 * many were added. An alternate file with another build id is left out, and *ret_why says so. */
size_t companions_find(struct companions *c, const char *path, struct bytes missing, bool want_dwos,
		       struct err *ret_why);

#endif
