/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_SCRIPT_HEAD_H
#define RAWSTACK_PERF_SCRIPT_HEAD_H
/*
 * Splits a line of perf script's text into words, and parses the first line of a sample:
 *
 *	thread 4711/4712 [001] 13795.288363:   10101010 cpu-clock: <fields, or a frame>
 *
 * Cpu, time and period may be missing, and a thread's name may hold blanks. It looks at one line
 * and keeps nothing; results are borrowed from the line. Private to perf_script_read.c.
 */
#include "profile.h"

/* The first line of a sample. */
struct perf_script_head {
	struct profile_text comm, event, frame; /* frame: the rest of the line, if any */
	uint64_t pid, tid, time_us, period;
	bool has_pid, has_time, has_period;
};

/* Cuts blanks off both ends. */
struct profile_text perf_script_trim(struct profile_text t);

/* Cuts the first word off *rest and returns it; empty at the end. */
struct profile_text perf_script_word(struct profile_text *rest);

/* Returns whether the whole word is a 64-bit number in this base, 10 or 16. */
bool perf_script_number(struct profile_text w, unsigned int base, uint64_t *ret);

bool perf_script_head_parse(struct profile_text line, struct perf_script_head *h);

#endif
