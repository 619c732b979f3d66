/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_TEXT_H
#define RAWSTACK_TABLE_TEXT_H
/*
 * A table file opened for people: mapped, validated, with names demangled as asked. Used by the
 * commands of rawstack-gsym-build.
 */
#include "demangle.h"
#include "rsym.h"

struct table_text {
	struct rsym table;
	struct rsym_reader *reader;
	enum demangle_style style;
	void *map;
	size_t map_len;
};

/* ERR_IO, and what rsym_open() says, with the path in front. */
int table_text_open(struct table_text *t, const char *path, struct err *err) _must_check_;
void table_text_close(struct table_text *t);

/* Replaces the content of out by a function's name (empty when there is none) or a file's path
 * (empty for RSYM_NONE). */
int table_text_name(const struct table_text *t, uint32_t function, struct buf *out,
		    struct err *err);
int table_text_file(const struct table_text *t, uint32_t file, struct buf *out, struct err *err);

/* Prints untrusted bytes on stdout: control bytes must not break the line or reach the terminal. */
void table_text_put(const void *p, size_t len);

#endif
