/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_COLUMNS_H
#define RAWSTACK_RSYM_COLUMNS_H
/*
 * The optional section of columns and discriminators, written. Rows of its own, for a line has many
 * columns: from an address on, a chain of column words, one for each frame. A column word is a
 * column in the low 16 bits and a discriminator above. Who reads uses rsym_columns_at().
 */
#include "intern.h"
#include "rsym.h"

struct rsym_columns {
	struct intern chains; /* pairs: the chain of the frames around, and a column word */
	struct buf index, stream;
	uint64_t last_vaddr;
	uint32_t last_chain, row_count;
};

void rsym_columns_init(struct rsym_columns *c);
void rsym_columns_done(struct rsym_columns *c);

/* The chain that has the column word inside of `around`; 0 is the chain of nothing but zeros.
 * UINT32_MAX: out of memory. */
uint32_t rsym_columns_chain(struct rsym_columns *c, uint32_t around, uint32_t column_word);

/* From vaddr on. Addresses must rise. Failure sticks in the buffers. */
void rsym_columns_row(struct rsym_columns *c, uint64_t vaddr, uint32_t chain);

/* Nothing when there is no row. */
void rsym_columns_put(const struct rsym_columns *c, struct buf *out);

/* For rsym_open(): lengths; then every row and chain. ERR_DATA. */
int rsym_columns_open(const struct rsym *t, struct err *err) _must_check_;
int rsym_columns_check(const struct rsym *t, struct err *err) _must_check_;

#endif
