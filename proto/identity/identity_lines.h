/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IDENTITY_LINES_H
#define RAWSTACK_IDENTITY_LINES_H
/* Reads a file whose lines consist of words; a comment begins with #. Internal to proto/identity.
 * For one thread. */
#include "base.h"
#include "err.h"

enum {
	IDENTITY_WORDS = 6 /* words of a line that are kept; further ones are only counted */
};

struct identity_lines {
	const char *path; /* borrowed */
	char *text, *at;
	size_t len;          /* of the text, which may contain secrets */
	unsigned int number; /* of the last line that was read */
};

/* One line. Its words point into the text and end in NUL. */
struct identity_line {
	const char *path;
	unsigned int number; /* from 1 */
	size_t count;
	char *words[IDENTITY_WORDS];
};

/* Reads the file, of at most max bytes. Returns 0, an error of io_read_file(), or ERR_DATA if there
 * are zero bytes in it. */
int identity_lines_open(struct identity_lines *l, const char *path, size_t max,
			struct err *err) _must_check_;

/* Fills *ret with the next line that has a word. Returns false behind the last. */
bool identity_lines_next(struct identity_lines *l, struct identity_line *ret);

/* Overwrites the text and frees it. */
void identity_lines_done(struct identity_lines *l);

#endif
