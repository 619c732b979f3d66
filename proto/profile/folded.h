/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FOLDED_H
#define RAWSTACK_FOLDED_H
/*
 * Folded stacks, the text that flame graph tools take: one line for each stack, root first, frames
 * apart by semicolons, a blank and the weight at the end.
 *
 *	thread;main;do_work;memcpy_[i] 1234
 *
 * A frame may end in a mark, by the usage of perf's stackcollapse: "_[k]" the kernel's, "_[i]"
 * inlined, "_[j]" compiled at run time. The first frame is the thread when "samples" of a profile
 * have that label; reading cannot know that and makes it a frame.
 *
 * Lost in this format: addresses, modules, files, lines, labels but the thread, all values but one.
 */
#include "file_view.h"
#include "profile.h"
#include "text_out.h"

/* Returns whether the beginning of a file looks like it. */
bool folded_is(const void *text, size_t len);

/* Fills *p, which must be empty; its one value is "samples" in count. ERR_DATA with the number of
 * the line; ERR_LIMIT. */
int folded_read_view(struct file_view *text, struct profile *p, struct err *err) _must_check_;
int folded_read(const void *text, size_t len, struct profile *p, struct err *err) _must_check_;

/* Writes value number `value` of each sample, equal stacks added up, in order of first sight; zeros
 * and less are left out. `marks`: with _[k], _[i] and _[j]. */
int folded_write(const struct profile *p, uint32_t value, bool marks, struct text_out *out,
		 struct err *err) _must_check_;

#endif
