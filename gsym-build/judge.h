/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JUDGE_H
#define RAWSTACK_JUDGE_H
/*
 * Whether a table says what its file says. The expectation is made the plain way: the DWARF read
 * through libdwarf, everything kept, and at each address all that covers it is looked at, by the
 * rules of FORMAT.md. Of the builder's own code it shares neither the scanner, nor flattening, nor
 * the choice of symbols or units. What it does share: the section loader, the reader of tables, and
 * below libdwarf's DIEs the decoders of line programs and range lists (dwarf_lines.h,
 * dwarf_ranges.h), which libdwarf 20210528 gets wrong or crashes in.
 *
 * Slow and large on purpose. Runs in the worker process.
 */
#include "buf.h"
#include "image.h"
#include "rsym.h"
#include "table_build.h"

/*
 * Compares the table with the file at each address where either of them changes, so every range is
 * seen from end to end. Each of the first LIMIT_VERIFY_PRINTED differences becomes a line of out,
 * control bytes replaced by '?'. `partner` is the stripped file or NULL. Errors are those of
 * reading; differences are no error.
 */
int judge_table(struct image *im, struct image *partner, const struct rsym *t,
		struct verify_report *report, struct buf *out, struct err *err) _must_check_;

#endif
