/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_SCRIPT_H
#define RAWSTACK_PERF_SCRIPT_H
/*
 * Reads and writes the text of `perf script`, which many tools read and write: a line for each
 * sample, its frames below it, leaf first, and an empty line. Source: the output of perf 5.10 to
 * 6.10.
 *
 *	thread 4711/4712 [001] 13795.288363:   10101010 cpu-clock:
 *	            92c1 fold+0x21 (/usr/bin/prog)
 *	            9000 (inlined) or ([unknown]) in place of a path
 *
 * The reader takes samples with a stack below or one address behind, with or without cpu, time and
 * period, and a file:line below a frame (-F +srcline). It skips comments (#). It keeps an address
 * as printed, and nothing looks it up again, because the mappings are not in the text. Lost on the
 * way: cpu and time of each sample, offsets in functions. It reads the text twice, line by line,
 * and resident memory does not grow with the text (file_view.h).
 *
 * The writer writes one record for each sample that a row stands for, because readers count
 * records. It spreads their times over the profile's duration. If that is unknown it makes times
 * up, because readers that draw over time (speedscope) leave out what takes none, and says so in a
 * comment. So reading the text gives the same rows and values. When that would take more than
 * LIMIT_SCRIPT_RECORDS records, more than LIMIT_SCRIPT_PER_ROW times the number of rows, or more
 * text than text_out_max(), each row is one record with its whole weight.
 */
#include "file_view.h"
#include "limits.h"
#include "profile.h"
#include "text_out.h"

/* Records that a profile may be unfolded to as perf script text, some 5 GiB, and records for each
 * of its rows: 15 bytes of a profile can count millions. */
#define LIMIT_SCRIPT_RECORDS LIMIT(16777216)
#define LIMIT_SCRIPT_PER_ROW LIMIT(256)

/* The first line of a text with made-up times, and the distance of these times. */
#define PERF_SCRIPT_NO_TIMES "# the times are made up: nobody knows them"
#define PERF_SCRIPT_STEP_US  1000

/* Returns whether the beginning of a file looks like this text. */
bool perf_script_is(const void *text, size_t len);

/* Fills *p, which must be empty. Returns ERR_DATA with the number of the line, or ERR_LIMIT. */
int perf_script_read(struct file_view *text, struct profile *p, struct err *err) _must_check_;

/* Writes the text. *ret_summed, which may be NULL, becomes the number of rows that stand for
 * several samples but are one record. Returns ERR_LIMIT as in text_out.h, or the error of out's
 * function. */
int perf_script_write(const struct profile *p, struct text_out *out, uint64_t *ret_summed,
		      struct err *err) _must_check_;

#endif
