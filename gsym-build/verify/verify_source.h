/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_SOURCE_H
#define RAWSTACK_VERIFY_SOURCE_H
/* Shared by the verify*.c files only: all that the file says, and what covers one address. */
#include "plain_reader.h"

struct verify_span {
	uint64_t start, end;
	uint32_t unit;
	uint32_t index; /* of a scope, sequence or symbol; nothing for what a unit covers */
};

/* Spans sorted by start; `active` has the indexes of those that cover the current address. */
struct verify_spans {
	struct verify_span *list;
	uint32_t *active;
	size_t count, cap, active_count, active_cap, next;
};

/* A sequence of a line table: rows that never fall. */
struct verify_sequence {
	size_t first, count; /* in rows */
	uint64_t high;
	uint32_t distance; /* of a row from the declaration of the function at its start */
};

struct verify_source {
	struct debug_text text;
	struct debug_scope *scopes; /* of all units; parents are indexes here */
	struct debug_row *rows;
	struct verify_sequence *sequences;
	struct verify_spans functions, lines, covered, sized;
	struct symbols symbols;       /* only the list; sorted by address */
	struct interval_overlay code; /* sections of code, as they stand in the file */
	uint64_t *edges;              /* where an answer may change: sorted, each once */
	size_t scope_count, scopes_cap, row_count, rows_cap, sequence_count, sequences_cap;
	size_t edge_count, edges_cap;
	uint32_t unit_count;
	uint64_t units_skipped, lines_refused;
	struct intern typed; /* struct verify_typed */
	uint32_t *types;     /* beside it: a string, the signature */
	size_t types_cap;
};

/* Which function has a signature: the first of a name and declaration that has one counts. */
struct verify_typed {
	uint32_t name, file, line;
};

/* The signature of a function; DEBUG_NONE: it has none, or none were read. */
uint32_t verify_type(const struct verify_source *f, struct verify_typed function);

void verify_source_init(struct verify_source *f);
void verify_source_done(struct verify_source *f);

/* Reads everything that the file describes. */
int verify_source_read(struct verify_source *f, struct image *im, struct image *executable,
		       const struct die_companions *companions, struct debug_report *debug,
		       struct err *err);

/* The end of the code section that holds an address; 0: none does. */
uint64_t verify_code_end(const struct verify_source *f, uint64_t vaddr);

/* Goes back to the lowest address. */
void verify_source_rewind(struct verify_source *f);

/* One frame as it should be. */
struct verify_frame {
	const struct debug_scope *scope; /* NULL: a symbol, or nothing but a line */
	const struct symbol *symbol;     /* NULL: none */
	uint32_t name, file, line;       /* DEBUG_NONE: none */
	uint32_t column_word;            /* debug_column_word() */
};

/* The frames at vaddr, innermost first, up to cap; 0 in a gap. Addresses must rise from call to
 * call. Negative: ERR_MEMORY. */
int verify_expect(struct verify_source *f, uint64_t vaddr, struct verify_frame *frames, size_t cap);

#endif
