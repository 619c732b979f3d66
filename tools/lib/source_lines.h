/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SOURCE_LINES_H
#define RAWSTACK_SOURCE_LINES_H
/*
 * Reads lines of source files that are on this machine. Their paths come from debug information and
 * are untrusted, so only regular files of a bounded size are read, and callers escape the text. The
 * last files stay in memory. For one thread at a time.
 */
#include "buf.h"

#define SOURCE_FILES 16

struct source_file {
	char *path;
	uint8_t *text; /* NULL: the file is not here */
	size_t *starts;
	size_t len, line_count;
	uint64_t used;
};

struct source_lines {
	struct source_file files[SOURCE_FILES];
	uint64_t clock;
};

void source_lines_done(struct source_lines *s);

/* Finds line `line` (from 1) without its newline, borrowed until the next call. Returns false if it
 * is not here. */
bool source_line(struct source_lines *s, const void *path, size_t path_len, uint32_t line,
		 const char **ret, size_t *ret_len);

#endif
