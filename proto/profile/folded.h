/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FOLDED_H
#define RAWSTACK_FOLDED_H
/*
 * Reads and writes folded stacks, the text that flame graph tools take: one line for each stack,
 * root first, with semicolons between frames, a blank and the weight at the end.
 *
 *	thread;main;do_work;memcpy_[i] 1234
 *
 * A frame may end in a mark, as in perf's stackcollapse: "_[k]" for a kernel frame, "_[i]" for an
 * inlined one, "_[j]" for one compiled at run time. The writer makes the thread the first frame if
 * samples have that label; the reader cannot know that and makes it a frame.
 *
 * Lost in this format: addresses, modules, files, lines, labels but the thread, all values but one.
 */
#include "file_view.h"
#include "profile.h"
#include "text_out.h"

/* Returns whether the beginning of a file looks like folded stacks. */
bool folded_is(const void *text, size_t len);

/* Fills *p, which must be empty; its only value is "samples" in count. Returns ERR_DATA with the
 * number of the line, or ERR_LIMIT. */
int folded_read(struct file_view *text, struct profile *p, struct err *err) _must_check_;

/* Writes value number `value` of each stack, with equal stacks added up, in order of first sight.
 * Stacks whose value is not above 0 are left out. `marks` adds _[k], _[i] and _[j]. */
int folded_write(const struct profile *p, uint32_t value, bool marks, struct text_out *out,
		 struct err *err) _must_check_;

#endif
