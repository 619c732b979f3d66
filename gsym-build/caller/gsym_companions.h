/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_COMPANIONS_H
#define RAWSTACK_GSYM_COMPANIONS_H
/*
 * Finds the files that a debug file refers to, for builds on the command line: a package of split
 * units, loose .dwo files, the dwz alternate file. Names come from an untrusted file, and whoever
 * runs the command may read more than its author: so only regular files are opened, for reading,
 * a bounded number, and only the worker looks into them. Never for a service, whose paths are not
 * those of whoever sent the file.
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

/* Takes a file that was named. ERR_SYSTEM: it cannot be opened. */
int companions_add(struct companions *c, const char *path, enum table_companion_kind kind,
		   struct err *err) _must_check_;

/* Takes PATH.dwp when it is there. */
void companions_add_package(struct companions *c, const char *path);

/*
 * Looks for what `missing` of table_build() names, seen from the file at `path`. How many were
 * taken. An alternate file that is there but has another build id is left out: *ret_why says so.
 */
size_t companions_find(struct companions *c, const char *path, struct bytes missing, bool want_dwos,
		       struct err *ret_why);

#endif
