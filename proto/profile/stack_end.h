/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STACK_END_H
#define RAWSTACK_STACK_END_H
/*
 * Whether a stack is whole. A walk over frame pointers cannot tell: through code that uses their
 * register otherwise it ends with a zero as it does at the outermost function, or goes astray
 * behind it. So the names decide: a stack is whole when it goes as far as a function that a thread
 * or a process starts in, and what a walk found behind that is chance. Stage: a profile with names.
 */
#include "profile.h"

enum stack_end {
	STACK_END_ENTRY, /* whole */
	STACK_END_CUT,   /* it ends in a function that has a caller, or for a reason that is told */
	STACK_END_UNNAMED, /* it ends in code that nobody named: nothing is known */
};

enum stack_end stack_end_of(const struct profile *p, uint32_t stack);

/* Returns whether samples are of a walk that the above speaks of: of a Rawstack sampler. Runtimes
 * that walk their own stacks leave entries out. */
bool stack_end_applies(const struct profile *p);

/* How samples tell it, besides their frames. What a sampler makes gives the label to those only
 * which are not whole. */
#define STACK_END_LABEL "stack_end"
const char *stack_end_name(enum stack_end end); /* "entry", "cut", "unnamed" */

/*
 * Gives every sample the label that its frames call for now, for frames get names after the label
 * was written; does nothing to a profile that the above does not speak of. ERR_LIMIT, ERR_MEMORY.
 */
int stack_end_label(struct profile *p, struct err *err) _must_check_;

/* Tells the end by the sample's label, which stays when frames are hidden or grouped, or by its
 * frames if there is no label. */
enum stack_end stack_end_told(const struct profile *p, uint32_t sample);

#endif
