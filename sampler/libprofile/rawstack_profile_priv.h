/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_HANDLE_PRIV_H
#define RAWSTACK_PROFILE_HANDLE_PRIV_H
/* The struct behind the handle of rawstack_profile.h, which the files of the library share. */
#include "profile.h"
#include "rawstack_profile.h"

struct rawstack_profile {
	struct profile profile;
	const char *misuse; /* the first add that the caller may not make; NULL: none */
};

/* Copies an error to the caller's struct, and returns its code. `error` may be NULL. */
int rawstack_profile_give_error(struct rawstack_profile_error *error, const struct err *err);

#endif
