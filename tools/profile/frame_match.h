/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAME_MATCH_H
#define RAWSTACK_FRAME_MATCH_H
/*
 * Decides which frames of a profile a pattern matches. A profile has few functions and many frames,
 * so it keeps the answer for each function and module. A match therefore belongs to one profile at
 * a time.
 */
#include "profile.h"
#include "text_match.h"

/* A frame: one line of a location. */
struct view_frame {
	uint32_t location; /* row of the profile that it comes from */
	uint32_t place;    /* index of the location in its stack: equal ones belong together */
	uint32_t function; /* row of the profile; PROFILE_NONE: no name */
	uint32_t module;   /* likewise */
	uint32_t line;
};

struct frame_match {
	struct text_match function, file, module; /* all that are set must match */
	struct text_match any;                    /* one of the three must match */
	uint8_t *by_function, *by_module;         /* 0: not asked yet, 1: no, 2: yes */
	size_t functions_cap, modules_cap;
};

void frame_match_done(struct frame_match *m);
bool frame_match_is_set(const struct frame_match *m);

/* Forgets the answers, so that another profile can be next. */
void frame_match_reset(struct frame_match *m);

/* Returns whether a frame matches. The profile may have got more functions since the last call. */
bool frame_match(struct frame_match *m, const struct profile *p, const struct view_frame *f);

#endif
