/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_SCRIPT_HEAD_H
#define RAWSTACK_PERF_SCRIPT_HEAD_H
/*
 * A line of perf script's text, in words, and the first line of a sample:
 *
 *	thread 4711/4712 [001] 13795.288363:   10101010 cpu-clock: <fields, or a frame>
 *
 * Cpu, time and period may be missing, and a thread's name may hold blanks. Looks at one line,
 * keeps nothing; what it gives is borrowed from the line. Private to perf_script_read.c.
 */
#include "profile.h"

/* The head of a sample. */
struct perf_script_head {
	struct profile_text comm, event, frame; /* frame: what stands behind, if anything */
	uint64_t pid, tid, time_us, period;
	bool has_pid, has_time, has_period;
};

/* Cuts the blanks at both ends. */
struct profile_text perf_script_trim(struct profile_text t);

/* The first word, which is cut off *rest; empty at the end. */
struct profile_text perf_script_word(struct profile_text *rest);

/* Returns whether the whole word is a number of 64 bits in this base, 10 or 16. */
bool perf_script_number(struct profile_text w, unsigned int base, uint64_t *ret);

bool perf_script_head_parse(struct profile_text line, struct perf_script_head *h);

#endif
