/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NOTES_H
#define RAWSTACK_PROFILE_NOTES_H
/*
 * What the files of a profile say of themselves (profile_comment()), with those that are alike
 * together: a directory of shipped batches has one for each batch that differs in its numbers only.
 */
#include "profile.h"

struct profile_note {
	uint32_t first; /* string of the profile */
	size_t count;
};

struct profile_notes {
	struct intern kinds;
	struct profile_note *list; /* kinds.count of them, in the order of their first */
	size_t cap;
};

/* Returns ERR_MEMORY. */
int profile_notes_make(struct profile_notes *n, const struct profile *p,
		       struct err *err) _must_check_;
void profile_notes_done(struct profile_notes *n);

#endif
