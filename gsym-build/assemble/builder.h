/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILDER_H
#define RAWSTACK_BUILDER_H
/*
 * The last stage of a build, which makes one table of the flattened units and the chosen symbols.
 * At each address the unit with the lowest offset that has a function there wins, then a unit that
 * has only a line; where no unit has a function, a symbol gives the name.
 */
#include "flatten.h"
#include "rsym_writer.h"
#include "symbols.h"

struct builder {
	struct debug_text text;
	struct flat flat;
	struct symbols symbols;
	bool columns;        /* write columns and discriminators */
	struct intern typed; /* functions with a signature: name and declaration */
	uint32_t *types;     /* by index in `typed`: a string */
	size_t types_cap;
	uint64_t bias; /* added to all addresses given; the table gets them without it */
};

struct builder_counts {
	uint64_t function_count, range_count, inline_count, file_count, alias_count;
};

void builder_init(struct builder *b);
void builder_done(struct builder *b);

/* Returns a debug_sink whose ctx is the builder. */
struct debug_sink builder_sink(struct builder *b);

/* Writes everything to w. The symbols must have been chosen. ERR_MEMORY; what w refuses is reported
 * by rsym_writer_finish(). */
int builder_write(struct builder *b, struct rsym_writer *w, struct builder_counts *ret,
		  struct err *err) _must_check_;

#endif
