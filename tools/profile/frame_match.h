/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAME_MATCH_H
#define RAWSTACK_FRAME_MATCH_H
/*
 * Which frames of a profile a pattern means. A profile has few functions and many frames, so the
 * answer for each function and each module is kept: a match belongs to one profile at a time.
 */
#include "profile.h"
#include "text_match.h"

/* A frame: one line of a location. */
struct view_frame {
	uint32_t location; /* of the profile it comes from */
	uint32_t place;    /* of the location in its stack: equal ones belong together */
	uint32_t function; /* of the profile; PROFILE_NONE: nobody named it */
	uint32_t module;   /* likewise */
	uint32_t line;
};

struct frame_match {
	struct text_match function, file, module; /* those that are set must all match */
	struct text_match any;                    /* one of the three matches; or the line */
	uint8_t *by_function, *by_module;         /* 0: not asked yet, 1: no, 2: yes */
	size_t functions_cap, modules_cap;
};

void frame_match_done(struct frame_match *m);
bool frame_match_is_set(const struct frame_match *m);

/* Forgets what was answered for another profile. */
void frame_match_reset(struct frame_match *m);

/* Functions added to the profile since the last call are fine. */
bool frame_match(struct frame_match *m, const struct profile *p, const struct view_frame *f);

#endif
