/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILDER_PRIV_H
#define RAWSTACK_BUILDER_PRIV_H
/*
 * All units and symbols as one sequence of rows, by address and without overlaps: between units the
 * choice that builder.h describes. Rows are not kept: to go through them again costs less.
 */
#include "builder.h"

struct builder_rows {
	struct builder *b;
	struct interval_overlay seen; /* pieces of units, as far as others do not lie on them */
	uint32_t *symbol_node;        /* by symbol, DEBUG_NONE until used */
	uint32_t nameless;    /* the node of lines without function and symbol, or DEBUG_NONE */
	struct flat_row last; /* that was taken; node DEBUG_NONE at first */
	bool (*take)(void *ctx, const struct flat_row *row);
	void *ctx;
};

/* The builder must outlive r, and its symbols must have been chosen. ERR_MEMORY; r is to be
 * released all the same. */
int builder_rows_init(struct builder_rows *r, struct builder *b, struct err *err) _must_check_;
void builder_rows_done(struct builder_rows *r);

/*
 * Gives every row that differs from the one before it to take(), until that returns false: out of
 * memory. Rows without a node are gaps. The first time, nodes for symbols are added to the
 * builder's; later there are no new ones.
 */
int builder_rows_each(struct builder_rows *r, bool (*take)(void *ctx, const struct flat_row *row),
		      void *ctx, struct err *err) _must_check_;

#endif
