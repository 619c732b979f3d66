/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_TEXT_H
#define RAWSTACK_TABLE_TEXT_H
/*
 * A table file opened for printing: mapped and validated, with names demangled as wanted. For the
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

/* Returns errors as err_sys() and rsym_open(), with the path in front. */
int table_text_open(struct table_text *t, const char *path, struct err *err) _must_check_;
void table_text_close(struct table_text *t);

/* Replace the content of out by a function's name (empty if there is none) or a file's path (empty
 * for RSYM_NONE). */
int table_text_name(const struct table_text *t, uint32_t function, struct buf *out,
		    struct err *err);
int table_text_file(const struct table_text *t, uint32_t file, struct buf *out, struct err *err);

/* Prints untrusted bytes on stdout. Control bytes are replaced, so that they neither break the line
 * nor reach the terminal. */
void table_text_put(const void *p, size_t len);

#endif
