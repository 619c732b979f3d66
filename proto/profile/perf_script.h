/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_SCRIPT_H
#define RAWSTACK_PERF_SCRIPT_H
/*
 * The text of `perf script`, which many tools read and write: a line for each sample, its frames
 * below, leaf first, and an empty line. Source: the output of perf 5.10 to 6.10.
 *
 *	thread 4711/4712 [001] 13795.288363:   10101010 cpu-clock:
 *	            92c1 fold+0x21 (/usr/bin/prog)
 *	            9000 (inlined) or ([unknown]) in place of a path
 *
 * Read: samples with a stack below or one address behind, with or without cpu, time and period;
 * a file:line below a frame (-F +srcline). Comments (#) are passed over. An address is kept as it
 * is printed: without the mappings nobody knows more, so it is not looked up again.
 * Lost on the way: cpu and time of each sample, offsets in functions.
 *
 * It is read twice, line by line: what is resident does not grow with the text (file_view.h).
 *
 * Written: one record for each sample that a row stands for, since readers count records; times
 * are spread over the profile's duration; where that is not known they are made up, for readers
 * that draw over time (speedscope) leave out what takes none, and a comment says so. So reading
 * gives the same rows and values. Counts beyond LIMIT_SCRIPT_RECORDS in all, or
 * LIMIT_SCRIPT_PER_ROW for each row, or what is more text than may be written (text_out_max()), are
 * not unfolded: then each row is one record, with its whole weight.
 */
#include "file_view.h"
#include "profile.h"
#include "text_out.h"

/* The line in front of a text whose times are made up, and how far apart those are. */
#define PERF_SCRIPT_NO_TIMES "# the times are made up: nobody knows them"
#define PERF_SCRIPT_STEP_US  1000

/* Returns whether the beginning of a file looks like it. */
bool perf_script_is(const void *text, size_t len);

/* Fills *p, which must be empty. ERR_DATA with the number of the line; ERR_LIMIT. */
int perf_script_read_view(struct file_view *text, struct profile *p, struct err *err) _must_check_;
int perf_script_read(const void *text, size_t len, struct profile *p, struct err *err) _must_check_;

/* *ret_summed: how many rows count several samples and are one record all the same; may be NULL.
 * ERR_LIMIT as text_out.h says, errors of out's function. */
int perf_script_write(const struct profile *p, struct text_out *out, uint64_t *ret_summed,
		      struct err *err) _must_check_;

#endif
