/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_OUTPUT_H
#define RAWSTACK_GSYM_OUTPUT_H
/*
 * The file that a command writes. It takes the place of what was there only when it is whole: a
 * crash or an error leaves the old file, or none.
 */
#include "base.h"
#include "err.h"

struct gsym_output {
	int dir_fd;
	int fd;           /* to write to; -1 once it is committed */
	const char *name; /* in dir_fd */
	char temp[256];
};

#define GSYM_OUTPUT_INIT               \
	{                              \
		.dir_fd = -1, .fd = -1 \
	}

/* path is kept, not copied. ERR_USAGE, ERR_SYSTEM; ERR_UNSUPPORTED: there is a device or the like.
 */
int gsym_output_open(struct gsym_output *o, const char *path, struct err *err) _must_check_;

/* Takes the place of the file at path. */
int gsym_output_commit(struct gsym_output *o, const char *path, struct err *err) _must_check_;

/* Without a commit nothing is left. */
void gsym_output_done(struct gsym_output *o);

#endif
