/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_H
#define RAWSTACK_VERIFY_H
/*
 * Checks that a table agrees with its file. The expected answers are made in the simplest way: the
 * DWARF read through libdwarf, everything kept, and at each address all that covers it is looked
 * at, by the rules of FORMAT.md. Of the builder's own code it shares the section loader and the
 * reader of tables, and nothing else: not the scanner, the decoders of lines and ranges,
 * flattening, nor the choice of symbols or units. Only a line table that libdwarf refuses is read
 * as the builder reads it, and counted.
 *
 * It is deliberately simple, and so slow and large. It runs in the verifier.
 */
#include "buf.h"
#include "plain_reader.h"
#include "rsym.h"
#include "table_task.h"

struct verify;

/* Reads everything a file describes; `executable` is the stripped file or NULL. The images may be
 * closed afterwards. *debug reports what could not be read. Errors are those of reading. */
int verify_open(struct verify **ret, struct image *im, struct image *executable,
		const struct die_companions *companions, struct debug_report *debug,
		struct err *err) _must_check_;
void verify_free(struct verify *v);
DEFINE_FREEP(struct verify, verify_free);

/*
 * Compares a table with the file at each address where either of them changes, so every range is
 * seen from end to end. Each of the first LIMIT_VERIFY_PRINTED differences becomes a line of out,
 * control bytes replaced by '?'. Differences are no error. Any number of tables, one after the
 * other; one thread at a time. ERR_DATA, ERR_MEMORY.
 */
int verify_table(struct verify *v, const struct rsym *t, struct verify_report *report,
		 struct buf *out, struct err *err) _must_check_;

#endif
