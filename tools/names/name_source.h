/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NAME_SOURCE_H
#define RAWSTACK_NAME_SOURCE_H
/*
 * A source of names for the addresses of a profile besides the files of this machine: a service
 * (remote_names.h). The readers of profiles see only this struct and know of no network. For one
 * thread.
 */
#include "profile.h"

/* A source's knowledge of a binary. */
struct name_status {
	const char *status; /* "missing", "ready", ...: a stable word; NULL: not asked */
	const char *reason; /* one line, or "" */
};

struct name_source {
	void *ctx;
	/* Asks for everything in `p` that has no name. */
	int (*prepare)(void *ctx, const struct profile *p, struct err *err);
	/* Gives the lines for a location that prepare() asked for, and returns their number: 0 if
	 * it has no name. With `into` NULL it only returns the number. */
	profile_lines_fn *lines;
	/* Returns the status of the binary that profiles know by this build id. */
	struct name_status (*status)(void *ctx, struct profile_text build_id);
};

#endif
