/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STACK_END_H
#define RAWSTACK_STACK_END_H
/*
 * Decides whether a stack is whole. A walk over frame pointers cannot: in code that uses the frame
 * pointer register for something else it ends with a zero, as at the outermost function, or goes
 * astray. So names decide. A stack is whole if it reaches a function in which a thread or process
 * starts; frames behind that one are chance. It works on a profile with names.
 */
#include "profile.h"

enum stack_end {
	STACK_END_ENTRY,   /* it reaches an entry: the stack is whole */
	STACK_END_CUT,     /* it ends in a function that has a caller, or for a stated reason */
	STACK_END_UNNAMED, /* it ends in code without a name, so nothing is known */
};

enum stack_end stack_end_of(const struct profile *p, uint32_t stack);

/* Returns whether this applies to the profile: whether a Rawstack sampler walked its stacks.
 * Runtimes that walk their own stacks leave entries out. */
bool stack_end_applies(const struct profile *p);

/* The label that says how a stack ends. A sampler gives it only to stacks that are not whole. */
#define STACK_END_LABEL "stack_end"
const char *stack_end_name(enum stack_end end); /* "entry", "cut", "unnamed" */

/*
 * Gives every sample the label that its present frames call for, because frames get names after the
 * label was written. Does nothing to a profile to which this does not apply. Returns ERR_LIMIT or
 * ERR_MEMORY.
 */
int stack_end_label(struct profile *p, struct err *err) _must_check_;

/* Returns how the stack of a sample ends, by its label, which stays when frames are hidden or
 * grouped, else by its frames. */
enum stack_end stack_end_told(const struct profile *p, uint32_t sample);

#endif
