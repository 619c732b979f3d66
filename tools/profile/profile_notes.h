/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_NOTES_H
#define RAWSTACK_PROFILE_NOTES_H
/*
 * Gathers the comments of the files of a profile (profile_comment()) and merges similar ones: a
 * directory of shipped batches has one comment per batch, which differ only in their numbers.
 */
#include "profile.h"

/* Comments that differ only in their numbers, or that all begin with "host ". */
struct profile_note {
	uint32_t first; /* the first of them, a string of the profile */
	size_t count;   /* how many there are */
};

struct profile_notes {
	struct intern kinds;       /* what the comments of a note have in common */
	struct profile_note *list; /* kinds.count notes, in order of first sight */
	size_t cap;
};

/* Gathers the notes of p, which must outlive *n. Returns 0 or ERR_MEMORY. Call profile_notes_done()
 * after a failure, too. */
int profile_notes_make(struct profile_notes *n, const struct profile *p,
		       struct err *err) _must_check_;
void profile_notes_done(struct profile_notes *n);

#endif
