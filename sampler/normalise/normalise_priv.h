/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NORMALISE_PRIV_H
#define RAWSTACK_NORMALISE_PRIV_H
/*
 * Turns the addresses of one sample into locations of the spool. normalise.c decides when. These
 * functions count frames that stay unresolved, and clear is_final if a later try may succeed.
 */
#include "normalise.h"

/* A stack on its way into the spool. */
struct stack {
	uint32_t frames[LIMIT_STACK_FRAMES];
	size_t count;
	uint32_t flags; /* enum spool_stack_flag */
};

/* Stores a frame that is not code but names a reason, so that the sample keeps its weight. */
void frames_put_pseudo(struct normaliser *n, struct stack *s, const char *name);

void frames_put_kernel(struct normaliser *n, struct stack *s, const struct event *e,
		       const uint64_t *pcs);

/* Stores the user part of a stack. p is NULL if nothing is known of the process. */
void frames_put_user(struct normaliser *n, struct stack *s, const struct proc *p,
		     const struct event *e, const uint64_t *pcs);

/* Returns whether the sample was taken in execve(2), where the old image may be gone while its
 * registers are still there. */
bool frames_in_exec(const struct event *e);

/* Returns the address to look up: for a return address the last byte of the call before it, because
 * a call may be the last instruction of its mapping. */
static inline uint64_t frames_looked_at(uint64_t pc, enum location_mode mode)
{
	return mode == LOCATION_RETURN && pc ? pc - 1 : pc;
}

enum location_mode frames_user_mode(const struct event *e, size_t frame);
const struct mapping *frames_user_mapping(const struct proc *p, uint64_t pc,
					  enum location_mode mode);

/* Returns whether a frame was placed before with the same mappings, in a file with a known id. Most
 * stacks share their callers, and searching the mappings for each costs more than all else. */
bool frames_is_placed(struct normaliser *n, const struct proc *p, uint64_t pc,
		      enum location_mode mode);

/*
 * Returns how many of the user frames to keep. Code without frame pointers leaves any value in
 * their register, and the kernel follows it. A frame outside executable memory is no caller, and
 * those after it are arbitrary, so the stack is cut after it and *ret_cut is set; the frame itself
 * is kept to be seen. Nothing is cut if not all mappings are known.
 */
uint16_t frames_plausible_count(struct normaliser *n, const struct proc *p, const struct event *e,
				const uint64_t *pcs, bool *ret_cut);

#endif
