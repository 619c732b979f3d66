/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_EDIT_H
#define RAWSTACK_PROFILE_EDIT_H
/*
 * Between the two parts of profile_filter_edit(): profile_edit.c takes stacks apart and puts them
 * together, profile_edit_rule.c applies the rules of schemas (schema.h) to one in between. Frames
 * are those of the stack at hand, leaf first; their functions and modules are rows of `into`.
 */
#include "profile_filter.h"

struct profile_edit {
	struct profile_filter *f;
	const struct profile *from;
	struct profile *into;
	uint32_t *strings, *modules, *functions; /* by row of from: row of into */
	uint32_t *stacks, *stack_tags;           /* by stack of from: stack and label set of into */
	struct view_frame *frames;
	size_t count, cap;
	struct profile_label tags[LIMIT_PROFILE_LABELS];
	int64_t priorities[LIMIT_PROFILE_LABELS];
	size_t tag_count;
};

/* Applies a rule to the frames and tags. False: the stack is dropped. What does not fit sets
 * into->failed. */
bool profile_edit_rule(struct profile_edit *e, struct schema_rule *r);

#endif
