/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STACK_SHARE_H
#define RAWSTACK_STACK_SHARE_H
/*
 * Counts how much of a profile has whole stacks, by weight (stack_end.h), for `stats` and `top`. In
 * profiles that no Rawstack sampler made, it counts only stacks that are labelled as cut.
 */
#include "profile_view.h"
#include "stack_end.h"

struct stack_share {
	int64_t total;
	int64_t ends[STACK_END_UNNAMED + 1]; /* by enum stack_end */
	int64_t told;                        /* weight of cut stacks that a label calls cut */
	bool applies;                        /* the profile is one to which `ends` applies */
};

void stack_share_count(struct stack_share *s, const struct profile_view *v);

/* Appends a line, or nothing if there is nothing to say. */
void stack_share_text(const struct stack_share *s, struct buf *out);

/* Appends keys to an open object, or nothing if there is nothing to say. */
void stack_share_json(const struct stack_share *s, struct buf *out);

#endif
