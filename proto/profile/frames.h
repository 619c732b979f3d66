/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAMES_H
#define RAWSTACK_FRAMES_H
/*
 * Iterates over the frames of one stack as other formats want them: one frame for each call,
 * inlined or not, each with a name, root first.
 *
 *	struct frames f = FRAMES_INIT(p);
 *
 *	frames_begin(&f, stack);
 *	while (frames_next(&f, &frame))
 *		...
 *	frames_done(&f);
 */
#include "buf.h"
#include "profile.h"

struct frame {
	struct profile_text name; /* never empty; a placeholder for a frame without a name */
	struct profile_text file; /* may be empty */
	uint32_t line;            /* 0: not known */
	uint32_t function;        /* row of the profile, or PROFILE_NONE */
	uint32_t location;
	uint32_t module; /* or PROFILE_NONE */
	uint64_t address;
	bool inlined; /* inlined into the frame before it */
	bool kernel;
};

struct frames {
	const struct profile *p;
	const uint32_t *locations;
	size_t left;  /* locations not begun */
	size_t lines; /* lines of the current location that are left */
	struct buf name;
};

#define FRAMES_INIT(profile)                                            \
	{                                                               \
		.p = (profile), .name = {.max = LIMIT_STRING_LEN + 64 } \
	}

void frames_begin(struct frames *f, uint32_t stack);

/* Returns false behind the leaf. *ret and its texts are valid until the next call. */
bool frames_next(struct frames *f, struct frame *ret);

void frames_done(struct frames *f);

#endif
