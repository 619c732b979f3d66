/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NOTES_H
#define RAWSTACK_PROFILE_NOTES_H
/*
 * Gathers the comments of the files of a profile (profile_comment()) and merges similar ones: a
 * directory of shipped batches has one comment per batch, which differ only in their numbers.
 */
#include "profile.h"

struct profile_note {
	uint32_t first; /* string of the profile */
	size_t count;
};

struct profile_notes {
	struct intern kinds;
	struct profile_note *list; /* kinds.count notes, in order of first sight */
	size_t cap;
};

/* Gathers the notes. Returns ERR_MEMORY. */
int profile_notes_make(struct profile_notes *n, const struct profile *p,
		       struct err *err) _must_check_;
void profile_notes_done(struct profile_notes *n);

#endif
