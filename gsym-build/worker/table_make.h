/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_MAKE_H
#define RAWSTACK_TABLE_MAKE_H
/* A whole build in one process, from bytes to bytes. Only the worker runs it, within its limits;
 * others call table_build(), which starts a worker. */
#include "buf.h"
#include "table_source.h"

/*
 * Appends the table to out (empty; its ceiling bounds the table) and fills in the counts of
 * *report. Errors as table_build(), but for those of the process. Leaks inside libraries are
 * possible on damaged input.
 */
int table_make(const struct table_source *source, struct buf *out, struct build_report *report,
	       struct err *err) _must_check_;

#endif
