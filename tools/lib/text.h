/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEXT_H
#define RAWSTACK_TEXT_H
/*
 * What people read: untrusted names made harmless for a terminal, numbers with units, and tables
 * that line up. Everything is appended to a buf; programs print it.
 */
#include "buf.h"

/*
 * Appends untrusted bytes: control characters (C0, C1, DEL), characters that change the direction
 * of text, and bytes that are not UTF-8 become \xNN or \u{N}; nothing else changes.
 */
void text_append(struct buf *out, const void *p, size_t len);
void text_cstr(struct buf *out, const char *s);

/*
 * The same for a name, which a file may have made to fill a terminal: of more than TEXT_NAME_MAX
 * bytes the middle is left out, and how much that is stands there. The longest names of real
 * programs, instances of templates in each other, differ at their ends.
 */
#define TEXT_NAME_MAX 512
void text_name(struct buf *out, const void *p, size_t len);

/* The same as one word of a shell command that people are told to type: quoted where anything in it
 * means something to a shell. */
void text_shell_word(struct buf *out, const void *p, size_t len);

/* "12.3 KiB" */
void text_bytes(struct buf *out, uint64_t n);

/* "3 min ago"; "-" when unix_ns is 0. */
void text_age(struct buf *out, uint64_t unix_ns, uint64_t now_ns);

/* Returns whether what is printed may have colours: stdout is a terminal, no dumb one, and
 * $NO_COLOR is not set (no-color.org). */
bool text_has_colours(void);

/* " 61.2 %" of a whole; the whole may be 0. Coloured as perf does it: red from 5 %, green from
 * 0.5 %. */
void text_share(struct buf *out, double part, double whole);

#define TABLE_COLUMNS 8

/* A table of cells; each column as wide as its widest cell, the last not padded. Rows that are
 * wider than the window break, so there cells are padded to less. */
struct text_table {
	struct buf text;   /* of all cells, one behind the other */
	size_t *ends;      /* of each cell in text */
	size_t count, cap; /* cells */
	size_t columns;
	uint32_t right;   /* bit i: column i is aligned to the right */
	size_t width_max; /* wider cells do not widen their column */
};

void text_table_init(struct text_table *t, size_t columns, uint32_t right);
void text_table_done(struct text_table *t);

/* Where the next cell is written; text_table_end() ends it. */
struct buf *text_table_cell(struct text_table *t);
void text_table_end(struct text_table *t);
void text_table_cstr(struct text_table *t, const char *s);

/* Returns ERR_MEMORY when a cell did not fit; nothing is lost silently. */
int text_table_print(const struct text_table *t, struct buf *out);

#endif
