/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FUNCTION_SET_H
#define RAWSTACK_FUNCTION_SET_H
/*
 * Which rows of a profile are one function as people think of it, whatever file a line of it lies
 * in and whichever build it is of. Stage: before a profile is counted by function.
 *
 *  - One with a declaration is its name and the file of that.
 *  - One whose declaration nobody knows (a symbol) is its name and the base name of its module; if
 *    a build has several of one name, each is its own.
 *  - One that a file says no more of than name and file, as foreign profiles and those of older
 *    versions do, is name and file; or that function of the first kind, if there is one only, which
 *    has lines in that file.
 *  - One without anything is its name and the base name of its module.
 */
#include "profile.h"

struct function_set {
	const struct profile *p;
	struct intern keys;    /* what makes two rows one function; its number is the function's */
	uint32_t *by_function; /* by row; PROFILE_NONE: it depends on the module */
	struct intern pairs;   /* (row, module) of those */
	uint32_t *by_pair;
};

/* `p` must outlive it, and get no rows. ERR_MEMORY. */
int function_set_make(struct function_set *s, const struct profile *p,
		      struct err *err) _must_check_;
void function_set_done(struct function_set *s);

/* The number of a function, below s->keys.count. `module`: of a location that has the row. */
uint32_t function_set_of(const struct function_set *s, uint32_t function, uint32_t module);

/* Where it is at home: its file, or the base name of its module; borrowed from the profile. Equal
 * names at equal homes are equal functions of two profiles. */
struct profile_text function_set_home(const struct function_set *s, uint32_t id);

/* The part of a path behind its last slash. */
struct profile_text function_base_name(struct profile_text path);

#endif
