/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STACK_SHARE_H
#define RAWSTACK_STACK_SHARE_H
/*
 * How much of a profile has whole stacks, by weight (stack_end.h). Stage: what `stats` and `top`
 * say of the whole. Of profiles that no Rawstack sampler made, only stacks are counted that say
 * themselves that they are cut.
 */
#include "profile_view.h"
#include "stack_end.h"

struct stack_share {
	int64_t total;
	int64_t ends[STACK_END_UNNAMED + 1]; /* by enum stack_end */
	int64_t told;                        /* of those that are cut: they say so themselves */
	bool applies;                        /* ends says something */
};

void stack_share_count(struct stack_share *s, const struct profile_view *v);

/* A line, or none where there is nothing to say. */
void stack_share_text(const struct stack_share *s, struct buf *out);

/* Keys of an open object; none where there is nothing to say. */
void stack_share_json(const struct stack_share *s, struct buf *out);

#endif
