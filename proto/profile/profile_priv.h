/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_PRIV_H
#define RAWSTACK_PROFILE_PRIV_H
/* How the tables of a profile lay out their rows, for those who fill them: profile.c row by row,
 * profile_many.c many at a time, profile_join.c a whole profile behind another. */
#include "profile.h"

/* The key of a location: its length, at most 16 + 8 * (LIMIT_INLINE_DEPTH + 1), and its bytes. */
size_t profile_location_len(const struct profile_location *l);
void profile_location_key(const struct profile_location *l, uint8_t *key);

/* Makes the module of the location hold it. */
void profile_module_widen(struct profile *p, const struct profile_location *l);

/* Values of a row of `samples`: the first, or more to add. */
void profile_put_values(struct profile *p, uint32_t sample, bool is_new, const int64_t *values);

/* Sets `failed`; the first reason stays. PROFILE_NONE. */
uint32_t profile_fail(struct profile *p, const char *what);

/* The reasons that say what to look for in a file. */
_Static_assert(LIMIT_PROFILE_STRING == 1048576 && LIMIT_PROFILE_STACK == 65536,
	       "what follows says so");
#define PROFILE_LONG_NAME  "a name of more than 1 MiB"
#define PROFILE_DEEP_STACK "a stack of more than 65536 frames"

#endif
