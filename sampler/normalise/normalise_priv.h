/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NORMALISE_PRIV_H
#define RAWSTACK_NORMALISE_PRIV_H
/*
 * The addresses of one sample, as locations of the spool: of normalise.c, which decides when.
 * Counts in the normaliser what has no place, and clears is_final where a later look may find one.
 */
#include "normalise.h"

/* A stack on its way into the spool. */
struct stack {
	uint32_t frames[LIMIT_STACK_FRAMES];
	size_t count;
	uint32_t flags; /* enum spool_stack_flag */
};

/* A frame that is not code but a reason, so that the sample keeps its weight. */
void frames_put_pseudo(struct normaliser *n, struct stack *s, const char *name);

void frames_put_kernel(struct normaliser *n, struct stack *s, const struct event *e,
		       const uint64_t *pcs);

/* p: NULL when nothing is known of the process. */
void frames_put_user(struct normaliser *n, struct stack *s, const struct proc *p,
		     const struct event *e, const uint64_t *pcs);

/* Inside execve() the old image is gone and its registers are still there. */
bool frames_in_exec(const struct event *e);

/* The byte looked at is the one of the call, not of the instruction after it: a call may be the
 * last one of its mapping. */
static inline uint64_t frames_looked_at(uint64_t pc, enum location_mode mode)
{
	return mode == LOCATION_RETURN && pc ? pc - 1 : pc;
}

enum location_mode frames_user_mode(const struct event *e, size_t frame);
const struct mapping *frames_user_mapping(const struct proc *p, uint64_t pc,
					  enum location_mode mode);

/* Whether a frame was placed before, with the same mappings: in a file whose id is known. Callers
 * are the same in most stacks, and to search the mappings for each costs more than all else. */
bool frames_is_placed(struct normaliser *n, const struct proc *p, uint64_t pc,
		      enum location_mode mode);

/*
 * How many of the user frames are to be believed. Code without frame pointers leaves anything in
 * their register, and the kernel follows it: a caller in no executable memory is not one, and what
 * comes behind is chance. It is kept, to be seen, as the last one. Nothing can be said of a process
 * whose mappings are not all known. *ret_cut tells whether such a frame ends the stack.
 */
uint16_t frames_plausible_count(struct normaliser *n, const struct proc *p, const struct event *e,
				const uint64_t *pcs, bool *ret_cut);

#endif
