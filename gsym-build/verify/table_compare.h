/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_COMPARE_H
#define RAWSTACK_TABLE_COMPARE_H
/*
 * A whole verification in one process, from bytes to a report. Only the verifier runs it, within
 * its limits; others call table_verify(), which starts a verifier.
 */
#include "rsym.h"
#include "table_source.h"

/*
 * Compares a table with the file that it was built from, as verify_compare_table() does. References
 * to files that were not given go to source->missing. Returns errors as verify_open() and
 * verify_compare_table().
 */
int table_compare(const struct table_source *source, const struct rsym *t,
		  struct verify_report *report, struct buf *out, struct err *err) _must_check_;

#endif
