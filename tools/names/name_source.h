/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NAME_SOURCE_H
#define RAWSTACK_NAME_SOURCE_H
/*
 * Who names addresses of a profile besides the files of this machine: a service (remote_names.h),
 * as what reads profiles sees it, which knows of no network. One thread.
 */
#include "profile.h"

/* What a source says of a binary. */
struct name_status {
	const char *status; /* "missing", "ready", ...: a stable word; NULL: it was not asked */
	const char *reason; /* one line, or "" */
};

struct name_source {
	void *ctx;
	/* Asks for everything in `p` that has no name. */
	int (*prepare)(void *ctx, const struct profile *p, struct err *err);
	/* Answers for what prepare() asked; 0: it has no name. With `into` NULL it only returns the
	 * number of lines. */
	profile_lines_fn *lines;
	/* The status of the binary that profiles know by this build id. */
	struct name_status (*status)(void *ctx, struct profile_text build_id);
};

#endif
