/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FRAMES_H
#define RAWSTACK_FRAMES_H
/*
 * The frames of one stack as formats of others want them: one for each call, inlined or not, each
 * with a name. Root first.
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
	struct profile_text name; /* never empty; a placeholder where nobody named it */
	struct profile_text file; /* may be empty */
	uint32_t line;            /* 0: not known */
	uint32_t function;        /* of the profile, or PROFILE_NONE */
	uint32_t location;
	uint32_t module; /* or PROFILE_NONE */
	uint64_t address;
	bool inlined; /* into the frame before it */
	bool kernel;
};

struct frames {
	const struct profile *p;
	const uint32_t *locations;
	size_t left;  /* locations not begun */
	size_t lines; /* of the current one, not given */
	struct buf name;
};

#define FRAMES_INIT(profile)                                            \
	{                                                               \
		.p = (profile), .name = {.max = LIMIT_STRING_LEN + 64 } \
	}

void frames_begin(struct frames *f, uint32_t stack);

/* False at the leaf's end. *ret and its texts are valid until the next call. */
bool frames_next(struct frames *f, struct frame *ret);

void frames_done(struct frames *f);

#endif
