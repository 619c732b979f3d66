/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OUTPUT_FILE_H
#define RAWSTACK_OUTPUT_FILE_H
/*
 * Writes the file that -o names, whole or not at all: the old file stays if the disk is full or the
 * program ends early. "-" is standard output. The file gets the mode that umask leaves. A symbolic
 * link stays a link; its target is written and must exist.
 */
#include "base.h"
#include "err.h"

struct output_file {
	int fd;
	char *path, *temporary; /* NULL: standard output */
	char *target;           /* path with all links followed */
	uint64_t written;
};

#define OUTPUT_FILE_NONE \
	{                \
		.fd = -1 \
	}

/* Opens the output. Returns ERR_UNSUPPORTED if path is something other than a regular file, or a
 * link to nothing, or ERR_IO. */
int output_file_open(struct output_file *f, const char *path, struct err *err) _must_check_;

/* A text_out_fn for a struct output_file. Returns ERR_CANCELLED if nobody reads standard output any
 * more. */
int output_file_write(void *file, const void *p, size_t len, struct err *err);

/* Gives the written file its name, durably. */
int output_file_commit(struct output_file *f, struct err *err) _must_check_;

/* Removes the file, unless it was committed. */
void output_file_done(struct output_file *f);

#endif
