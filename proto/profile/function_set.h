/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FUNCTION_SET_H
#define RAWSTACK_FUNCTION_SET_H
/*
 * Decides which rows of a profile are the same function to a person, in whichever file its lines
 * are and from whichever build. It runs before a profile is counted by function.
 *
 * - A row with a declaration is the function of its name and the file of the declaration.
 * - A row without a known declaration (a symbol) is the function of its name and the base name of
 *   its module. If a build has several symbols of one name, each is a function of its own.
 * - A row of which the file has only name and file, as in profiles of others and of older versions,
 *   is the function of both. If exactly one function of the first kind has that name and lines in
 *   that file, the row is that one.
 * - A row without any of this is the function of its name and the base name of its module.
 */
#include "profile.h"

struct function_set {
	const struct profile *p;
	struct intern keys;    /* key of a function; the key's number is the function's */
	uint32_t *by_function; /* function by row; PROFILE_NONE: it depends on the module */
	struct intern pairs;   /* (row, module) of such rows */
	uint32_t *by_pair;
};

/* Makes the set of a profile, which must outlive it and get no more rows. Returns ERR_MEMORY. */
int function_set_make(struct function_set *s, const struct profile *p,
		      struct err *err) _must_check_;
void function_set_done(struct function_set *s);

/* Returns the number of a function, below s->keys.count. `module` is that of a location that has
 * the row. */
uint32_t function_set_of(const struct function_set *s, uint32_t function, uint32_t module);

/* Returns the home of a function: its file, or the base name of its module, borrowed from the
 * profile. Functions of equal names and homes are equal across profiles. */
struct profile_text function_set_home(const struct function_set *s, uint32_t id);

/* Returns the part of a path behind its last slash. */
struct profile_text function_base_name(struct profile_text path);

#endif
