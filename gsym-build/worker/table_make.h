/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_MAKE_H
#define RAWSTACK_TABLE_MAKE_H
/* A whole build in one process, from the file's bytes to the table's. Only the worker runs it,
 * within its limits; others call table_build(), which starts a worker. */
#include "buf.h"
#include "table_source.h"

/*
 * Appends the table to out (empty; its ceiling bounds the table) and fills in the counts of
 * *report. Returns errors as table_build(), except those of the process. Libraries may leak memory
 * on damaged input.
 */
int table_make(const struct table_source *source, struct buf *out, struct build_report *report,
	       struct err *err) _must_check_;

#endif
