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

#endif
