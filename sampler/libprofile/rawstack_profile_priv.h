/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_HANDLE_PRIV_H
#define RAWSTACK_PROFILE_HANDLE_PRIV_H
/* What stands behind the handle of rawstack_profile.h; its modules share this. */
#include "profile.h"
#include "rawstack_profile.h"

struct rawstack_profile {
	struct profile profile;
	const char *misuse; /* the first add that the caller may not make; NULL: none */
};

/* Hands an error out, and returns its code. */
int rawstack_profile_give_error(struct rawstack_profile_error *error, const struct err *err);

#endif
