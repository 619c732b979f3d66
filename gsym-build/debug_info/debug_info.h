/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEBUG_INFO_H
#define RAWSTACK_DEBUG_INFO_H
/*
 * The interface between readers of debug information (README.md) and the builder: it carries what a
 * reader found, before anything is decided. A reader gives one struct debug_unit at a time; the
 * arrays belong to the reader and are valid during the call only. Addresses are link-time
 * addresses. Names and files are ids of a struct debug_text that reader and builder share.
 */
#include "err.h"
#include "intern.h"

#define DEBUG_NONE UINT32_MAX

/* Interned text of a whole build. */
struct debug_text {
	struct intern strings;
	struct intern files; /* keys: struct debug_file */
};

struct debug_file {
	uint32_t dir, base; /* strings */
};

/* A function or an inlined call. Scopes are in the order of their DIEs, a parent before its
 * children; if several cover an address, their ranges decide between them (flatten.h). */
struct debug_scope {
	uint64_t entry;  /* valid when has_entry */
	uint32_t parent; /* the scope around an inlined call; DEBUG_NONE for a function */
	uint32_t name;   /* string: linkage name, else plain name, else DEBUG_NONE */
	uint32_t decl_file, decl_line; /* DEBUG_NONE and 0: not known, as in all pairs below */
	uint32_t call_file, call_line; /* of an inlined call */
	uint32_t call_column_word;     /* of an inlined call */
	bool has_entry;
};

/* One range of a scope; a scope may have many, far apart. start < end. */
struct debug_span {
	uint64_t start, end;
	uint32_t scope;
};

/* A row of a line table, in the order of the line program. If several rows have one address, the
 * last counts. A row with `end` closes a sequence, and its address is the first behind it. */
struct debug_row {
	uint64_t vaddr;
	uint32_t file, line;
	uint32_t column_word;
	bool end;
};

/* Returns a column word: the column in the low 16 bits, the discriminator above. 0 means none, and
 * so does a value that does not fit. If columns are not wanted, all column words are 0. */
static inline uint32_t debug_column_word(uint64_t column, uint64_t discriminator)
{
	return (column <= UINT16_MAX ? (uint32_t)column : 0) |
	       (discriminator <= UINT16_MAX ? (uint32_t)discriminator : 0) << 16;
}

struct debug_range {
	uint64_t start, end;
};

struct debug_unit {
	const struct debug_scope *scopes;
	const struct debug_span *spans;
	const struct debug_row *rows;
	/* Signature strings by scope, or DEBUG_NONE for none. NULL if they are not wanted. */
	const uint32_t *types;
	const struct debug_range *ranges; /* the ranges in the unit's own DIE */
	size_t scope_count, span_count, row_count, range_count;
	uint32_t number;    /* rank by offset; units may be missing or out of order */
	uint64_t done, all; /* bytes of .debug_info up to this unit's end, and in all; or 0 */
};

/* Takes the units of a reader. unit() returns 0, or an error that ends the reading. */
struct debug_sink {
	void *ctx;
	int (*unit)(void *ctx, const struct debug_unit *unit, struct err *err);
};

void debug_text_init(struct debug_text *t);
void debug_text_done(struct debug_text *t);

/* Return the id of a text, or DEBUG_NONE if memory is out or a limit is reached. */
uint32_t debug_string(struct debug_text *t, const void *p, size_t len);
uint32_t debug_file(struct debug_text *t, const void *dir, size_t dir_len, const void *base,
		    size_t base_len);

#endif
