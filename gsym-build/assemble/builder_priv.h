/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILDER_PRIV_H
#define RAWSTACK_BUILDER_PRIV_H
/* Walks all units and symbols as one sequence of rows, by address and without overlaps; builder.h
 * says which unit wins. Rows are not stored, because a second walk costs less. */
#include "builder.h"

struct builder_rows {
	struct builder *b;
	struct interval_overlay seen; /* the parts of units' pieces that no better piece covers */
	uint32_t *symbol_node;        /* by symbol, DEBUG_NONE until used */
	uint32_t nameless;    /* the node of lines without function and symbol, or DEBUG_NONE */
	struct flat_row last; /* the row that take() got last; its node is DEBUG_NONE at first */
	bool (*take)(void *ctx, const struct flat_row *row);
	void *ctx;
};

/* The builder must outlive r, and its symbols must have been chosen. ERR_MEMORY; the caller must
 * release r even then. */
int builder_rows_init(struct builder_rows *r, struct builder *b, struct err *err) _must_check_;
void builder_rows_done(struct builder_rows *r);

/*
 * Gives take() every row that differs from the one before it, until take() returns false for lack
 * of memory. Rows without a node are gaps. The first walk adds nodes for symbols to the builder.
 * ERR_MEMORY.
 */
int builder_rows_each(struct builder_rows *r, bool (*take)(void *ctx, const struct flat_row *row),
		      void *ctx, struct err *err) _must_check_;

#endif
