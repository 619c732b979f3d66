/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_PRIV_H
#define RAWSTACK_PROFILE_PRIV_H
/* The layout of the rows of a profile, for the files that fill them: profile.c row by row,
 * profile_many.c many at a time, profile_join.c a whole profile behind another. */
#include "profile.h"

/* Return the length of a location's key, at most 16 + 8 * (LIMIT_INLINE_DEPTH + 1), and write its
 * bytes. */
size_t profile_location_len(const struct profile_location *l);
void profile_location_key(const struct profile_location *l, uint8_t *key);

/* Widens the module of a location to hold its address. */
void profile_module_widen(struct profile *p, const struct profile_location *l);

/* Sets the values of a row of `samples` if it is new, else adds to them. */
void profile_put_values(struct profile *p, uint32_t sample, bool is_new, const int64_t *values);

/* Sets `failed` and returns PROFILE_NONE. The first reason stays. */
uint32_t profile_fail(struct profile *p, const char *what);

/* Reasons that tell the reader what to look for in a file. */
_Static_assert(LIMIT_PROFILE_STRING == 1048576 && LIMIT_PROFILE_STACK == 65536,
	       "what follows says so");
#define PROFILE_LONG_NAME  "a name of more than 1 MiB"
#define PROFILE_DEEP_STACK "a stack of more than 65536 frames"

#endif
