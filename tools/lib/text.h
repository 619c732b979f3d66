/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEXT_H
#define RAWSTACK_TEXT_H
/*
 * Formats text for people: untrusted names made harmless for a terminal, numbers with units, and
 * aligned tables. Everything is appended to a buf, which the program prints.
 */
#include "buf.h"

/*
 * Appends untrusted bytes. Control characters (C0, C1, DEL), characters that change the direction
 * of text, and bytes that are not UTF-8 become \xNN or \u{N}; everything else stays.
 */
void text_append(struct buf *out, const void *p, size_t len);
void text_cstr(struct buf *out, const char *s);

/*
 * Appends a name, which a hostile file may have made to fill a terminal. If it has more than
 * TEXT_NAME_MAX bytes, its middle becomes a note of how much is left out. The longest names of real
 * programs, instances of nested templates, differ at their ends.
 */
#define TEXT_NAME_MAX 512
void text_name(struct buf *out, const void *p, size_t len);

/* Appends untrusted bytes as one word of a shell command that people are told to type, quoted if
 * anything in it has a meaning to a shell. */
void text_shell_word(struct buf *out, const void *p, size_t len);

/* Appends a number of bytes: "12.3 KiB". */
void text_bytes(struct buf *out, uint64_t n);

/* Appends an age: "3 min ago", or "-" if unix_ns is 0. */
void text_age(struct buf *out, uint64_t unix_ns, uint64_t now_ns);

/* Appends the share of a whole, which may be 0: " 61.2 %". Coloured as in perf: red from 5 %, green
 * from 0.5 %. */
void text_share(struct buf *out, double part, double whole);

#define TABLE_COLUMNS 8

/* A table of cells. Each column is as wide as its widest cell; the last one is not padded. In a
 * narrow window, cells are padded to half its width at most. */
struct text_table {
	struct buf text;   /* text of all cells, one behind the other */
	size_t *ends;      /* end of each cell in text */
	size_t count, cap; /* cells */
	size_t columns;
	uint32_t right;   /* bit i: column i is aligned to the right */
	size_t width_max; /* wider cells do not widen their column */
};

void text_table_init(struct text_table *t, size_t columns, uint32_t right);
void text_table_done(struct text_table *t);

/* Returns the buffer to write the next cell to; text_table_end() ends the cell. */
struct buf *text_table_cell(struct text_table *t);
void text_table_end(struct text_table *t);
void text_table_cstr(struct text_table *t, const char *s);

/* Appends the table to out. Returns ERR_MEMORY if a cell did not fit; nothing is lost silently. */
int text_table_print(const struct text_table *t, struct buf *out);

#endif
