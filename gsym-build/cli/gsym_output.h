/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_OUTPUT_H
#define RAWSTACK_GSYM_OUTPUT_H
/* The file that a command writes. It replaces an existing file only when it is complete, so a crash
 * or an error leaves the old file, or none. */
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

/* Creates a temporary file beside `path`, which is borrowed. Returns ERR_UNSUPPORTED if `path` is a
 * device or similar, ERR_USAGE, or errors as err_sys(). */
int gsym_output_open(struct gsym_output *o, const char *path, struct err *err) _must_check_;

/* Renames the temporary file to `path`. Returns errors as err_sys(). */
int gsym_output_commit(struct gsym_output *o, const char *path, struct err *err) _must_check_;

/* Releases everything, and removes the file if it was not committed. */
void gsym_output_done(struct gsym_output *o);

#endif
