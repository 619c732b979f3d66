/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_EDIT_H
#define RAWSTACK_PROFILE_EDIT_H
/*
 * profile_filter_edit(), as its two parts share it: profile_edit.c takes stacks apart and puts them
 * together, and in between profile_edit_rule.c applies the rules of schemas (schema.h) to one
 * stack. Frames are those of the present stack, leaf first; their functions and modules are rows of
 * `into`.
 */
#include "profile_filter.h"

struct profile_edit {
	struct profile_filter *f;
	const struct profile *from;
	struct profile *into;
	uint32_t *strings, *modules, *functions; /* rows of `into`, by row of `from` */
	uint32_t *stacks, *stack_tags; /* stacks and label sets of `into`, by stack of `from` */
	struct view_frame *frames;
	size_t count, cap;
	struct profile_label tags[LIMIT_PROFILE_LABELS];
	int64_t priorities[LIMIT_PROFILE_LABELS];
	size_t tag_count;
};

/* Applies a rule to the frames and tags. Returns false if the stack is dropped. Sets into->failed
 * if something does not fit. */
bool profile_edit_rule(struct profile_edit *e, struct schema_rule *r);

#endif
