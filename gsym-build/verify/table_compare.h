/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_COMPARE_H
#define RAWSTACK_TABLE_COMPARE_H
/*
 * A whole verification in one process, from bytes to a report: what the verifier runs behind its
 * limits. Everyone else calls table_verify(), which puts a process boundary around it.
 */
#include "rsym.h"
#include "table_source.h"

/*
 * Compares a table with the file that table_make() would build it from, as verify_table() does.
 * What the file asks for and was not given goes to source->missing. Errors as verify_open() and
 * verify_table().
 */
int table_compare(const struct table_source *source, const struct rsym *t,
		  struct verify_report *report, struct buf *out, struct err *err) _must_check_;

#endif
