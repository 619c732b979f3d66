/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PIPED_INPUT_H
#define RAWSTACK_PIPED_INPUT_H
/*
 * Reads a profile that comes through a pipe: `perf script | rawstack top -`, a named pipe, the
 * shell's <(...). Readers look at a file more than once, so the pipe is first copied to an unnamed
 * file in $TMPDIR, else /var/tmp, else /tmp, which goes with its descriptor.
 */
#include <sys/stat.h>

#include "err.h"

struct piped_input {
	int fd;
	const char *name; /* name for messages */
	char path[32];    /* path that opens the copy while fd is open */
};

#define PIPED_INPUT_NONE \
	{                \
		.fd = -1 \
	}

/* Returns whether an argument is piped input: -, or a pipe. */
bool piped_input_is(const char *path, const struct stat *st);

/* Copies all of the input. `path` is borrowed. Returns ERR_USAGE for a terminal, ERR_LIMIT beyond
 * `max` bytes, or ERR_IO. */
int piped_input_open(struct piped_input *in, const char *path, uint64_t max,
		     struct err *err) _must_check_;

/* Puts the name of the original into an error about the copy, and returns err->code. */
int piped_input_error(const struct piped_input *in, struct err *err);

void piped_input_done(struct piped_input *in);

#endif
