/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OUTPUT_FILE_H
#define RAWSTACK_OUTPUT_FILE_H
/*
 * The file that -o names, written whole or not at all: what was there stays when the disk is full
 * or the program ends early. "-" is standard output. It gets the mode that umask leaves. A symbolic
 * link stays one: what it points to is written, and must be there.
 */
#include "base.h"
#include "err.h"

struct output_file {
	int fd;
	char *path, *temporary; /* NULL: standard output */
	char *target;           /* what path is when links were followed */
	uint64_t written;
};

#define OUTPUT_FILE_NONE \
	{                \
		.fd = -1 \
	}

/* Returns ERR_UNSUPPORTED when there is something that is not a regular file, or a link to nothing;
 * ERR_IO. */
int output_file_open(struct output_file *f, const char *path, struct err *err) _must_check_;

/* A text_out_fn for a struct output_file. ERR_CANCELLED: nobody reads standard output any more. */
int output_file_write(void *file, const void *p, size_t len, struct err *err);

/* Gives the file its name, durably. */
int output_file_commit(struct output_file *f, struct err *err) _must_check_;

/* Removes the file, unless it was committed. */
void output_file_done(struct output_file *f);

#endif
