/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_MAKE_H
#define RAWSTACK_TABLE_MAKE_H
/*
 * A whole build in one process, from bytes to bytes: what the worker runs behind its limits.
 * Everyone else calls table_build(), which puts a process boundary around it.
 */
#include "buf.h"
#include "helper.h"
#include "table_build.h"

struct table_companion_bytes {
	const void *p; /* NULL: it was empty */
	size_t len;
	enum table_companion_kind kind;
};

struct table_source {
	const void *p; /* the file */
	size_t len;
	bool mapped;          /* p is a private read-only mapping of a file: see image.h */
	const void *stripped; /* its partner, or NULL */
	size_t stripped_len;
	enum table_input input;
	struct build_id id; /* to be written into the table */
	const struct table_companion_bytes *companions;
	size_t companion_count;
	struct buf *missing;    /* as in struct table_request */
	const uint64_t *wanted; /* likewise */
	size_t wanted_count;
	bool columns, types, shown;      /* as in struct table_request */
	struct table_progress *progress; /* NULL, or told how far it is; shared memory */
	struct helper *helper;           /* NULL, or does half of the work; the same table */
};

/*
 * Appends the table to out (empty; its ceiling bounds the table) and fills in the counts of
 * *report. Errors as table_build(), but for those of the process. Leaks inside libraries are
 * possible on damaged input.
 */
int table_make(const struct table_source *source, struct buf *out, struct build_report *report,
	       struct err *err) _must_check_;

#endif
