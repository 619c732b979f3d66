/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IDENTITY_LINES_H
#define RAWSTACK_IDENTITY_LINES_H
/* A file of lines of words, with comments from # on. Internal to proto/identity. */
#include "base.h"
#include "err.h"

enum {
	IDENTITY_WORDS = 6 /* more are counted, not kept */
};

struct identity_lines {
	const char *path; /* borrowed */
	char *text, *at;
	size_t len; /* of the text, with the secrets that may be in it */
	unsigned int number;
};

/* Words point into the text, and end in NUL. */
struct identity_line {
	const char *path;
	unsigned int number; /* from 1 */
	size_t count;
	char *words[IDENTITY_WORDS];
};

/* Errors of io_read_file(); ERR_DATA for zero bytes. */
int identity_lines_open(struct identity_lines *l, const char *path, size_t max,
			struct err *err) _must_check_;

/* Fills *ret with the next line that has a word. Returns false behind the last. */
bool identity_lines_next(struct identity_lines *l, struct identity_line *ret);

/* Overwrites the text. */
void identity_lines_done(struct identity_lines *l);

#endif
