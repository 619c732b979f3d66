/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_H
#define RAWSTACK_VERIFY_H
/*
 * Checks that a table agrees with its file. The expected answers are made in the simplest way:
 * libdwarf reads the DWARF, everything is kept, and for each address everything that covers it is
 * examined, by the rules of FORMAT.md. It shares the section loader and the reader of tables with
 * the builder, but neither the scanner, the decoders of lines and ranges, flattening, nor the
 * choice of symbols or units. Only a line table that libdwarf refuses is read as the builder reads
 * it, and counted.
 *
 * The code is simple on purpose, at the cost of time and memory. It runs in the verifier.
 */
#include "buf.h"
#include "plain_reader.h"
#include "rsym.h"
#include "table_task.h"

struct verify;

/* Reads everything a file describes; `executable` is the executable of a debug file, or NULL. The
 * images may be closed afterwards. *debug reports what could not be read. Returns errors as
 * plain_read_with() and the image's readers of symbols. */
int verify_open(struct verify **ret, struct image *im, struct image *executable,
		const struct die_companions *companions, struct debug_report *debug,
		struct err *err) _must_check_;
void verify_free(struct verify *v);
DEFINE_FREEP(struct verify, verify_free);

/*
 * Compares a table with the file at each address where the answer of either may change, so that
 * every range is covered as a whole. Each of the first LIMIT_VERIFY_PRINTED differences is printed
 * to out, with control bytes replaced by '?'. A difference is no error. Several tables may be
 * compared in turn, by one thread at a time. Returns ERR_DATA or ERR_MEMORY.
 */
int verify_compare_table(struct verify *v, const struct rsym *t, struct verify_report *report,
			 struct buf *out, struct err *err) _must_check_;

#endif
