/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PIPED_INPUT_H
#define RAWSTACK_PIPED_INPUT_H
/*
 * A profile that comes through a pipe: `perf script | rawstack top -`, a named pipe, the shell's
 * <(...). Readers look at a file more than once, so it is first copied to a file without a name in
 * $TMPDIR, else /var/tmp, else /tmp, which goes with its descriptor.
 */
#include <sys/stat.h>

#include "err.h"

struct piped_input {
	int fd;
	const char *name; /* as people are told it */
	char path[32];    /* to be opened, while fd is open */
};

#define PIPED_INPUT_NONE \
	{                \
		.fd = -1 \
	}

/* Returns whether this argument is one: -, or what is a pipe. */
bool piped_input_is(const char *path, const struct stat *st);

/* Copies all of it. `path` is borrowed. ERR_USAGE for a terminal, ERR_LIMIT beyond `max` bytes,
 * ERR_IO. */
int piped_input_open(struct piped_input *in, const char *path, uint64_t max,
		     struct err *err) _must_check_;

/* Gives an error of the copy the name of what was copied; err->code. */
int piped_input_error(const struct piped_input *in, struct err *err);

void piped_input_done(struct piped_input *in);

#endif
