/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_SOURCE_H
#define RAWSTACK_VERIFY_SOURCE_H
/* Shared by the verify*.c files only: the content of the file, and the expected answer at an
 * address. */
#include "plain_reader.h"

struct verify_span {
	uint64_t start, end;
	uint32_t unit;
	uint32_t index; /* index of the scope, sequence or symbol; unused for a range of a unit */
};

/* Spans sorted by start. `active` has the indexes of the spans that cover the current address. */
struct verify_spans {
	struct verify_span *list;
	uint32_t *active;
	size_t count, cap, active_count, active_cap, next;
};

/* A sequence of a line table. The addresses of its rows never fall. */
struct verify_sequence {
	size_t first, count; /* in rows */
	uint64_t high;
	uint32_t distance; /* least one in lines from the declaration of the function there */
};

struct verify_source {
	struct debug_text text;
	struct debug_scope *scopes; /* of all units; parents are indexes in this array */
	struct debug_row *rows;
	struct verify_sequence *sequences;
	struct verify_spans functions, lines, covered, sized;
	struct symbols symbols;       /* only the list is used, sorted by address */
	struct interval_overlay code; /* sections of code, not flattened */
	uint64_t *edges; /* addresses where an answer may change, sorted and distinct */
	size_t scope_count, scopes_cap, row_count, rows_cap, sequence_count, sequences_cap;
	size_t edge_count, edges_cap;
	uint32_t unit_count;
	uint64_t units_skipped, lines_refused;
	struct intern typed; /* struct verify_typed */
	uint32_t *types;     /* their signatures (strings), parallel to `typed` */
	size_t types_cap;
};

/* The key of a signature. If several functions have the same name and declaration, the first
 * signature is used. */
struct verify_typed {
	uint32_t name, file, line;
};

/* Returns the signature of a function, or DEBUG_NONE if it has none or none were read. */
uint32_t verify_type(const struct verify_source *f, struct verify_typed function);

void verify_source_init(struct verify_source *f);
void verify_source_done(struct verify_source *f);

/* Reads everything that the file describes. Returns errors as verify_open(). */
int verify_source_read(struct verify_source *f, struct image *im, struct image *executable,
		       const struct die_companions *companions, struct debug_report *debug,
		       struct err *err);

/* Returns the end of the code section that holds an address, or 0 if none does. */
uint64_t verify_code_end(const struct verify_source *f, uint64_t vaddr);

/* Lets verify_expect() start again at the lowest address. */
void verify_source_rewind(struct verify_source *f);

/* One frame of an expected answer. */
struct verify_frame {
	const struct debug_scope *scope; /* NULL if the frame is a symbol or only a line */
	const struct symbol *symbol;     /* or NULL */
	uint32_t name, file, line;       /* name and file may be DEBUG_NONE */
	uint32_t column_word;            /* debug_column_word() */
};

/* Stores the frames at vaddr, innermost first, up to cap. Returns their number, 0 in a gap, or
 * ERR_MEMORY. Addresses must rise from call to call. */
int verify_expect(struct verify_source *f, uint64_t vaddr, struct verify_frame *frames, size_t cap);

#endif
